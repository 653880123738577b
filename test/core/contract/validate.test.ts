import { expect, test } from 'vitest'
import { z } from 'zod'
import { fieldReasons } from '../../../src/core/contract/index.ts'

const Wanted = z.strictObject({ level: z.enum(['low', 'high']), count: z.number(), name: z.string().min(3, 'must be longer') })

test.each([
  ['a missing field', { level: 'low', count: 1 }, { path: 'name', reason: 'is missing' }],
  ['another type', { level: 'low', count: 'x', name: 'abc' }, { path: 'count', reason: 'must be number' }],
  ['a word that is not on the list', { level: 'loud', count: 1, name: 'abc' }, { path: 'level', reason: 'must be one of low, high' }],
  ['a rule with words of its own', { level: 'low', count: 1, name: 'a' }, { path: 'name', reason: 'must be longer' }],
  ['an unknown field', { level: 'low', count: 1, name: 'abc', more: 1 }, { path: 'more', reason: 'is not a known field' }],
])('%s is named in plain words', (_, value, reason) => {
  expect(fieldReasons(Wanted.safeParse(value).error as z.ZodError)).toEqual([reason])
})
