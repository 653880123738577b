import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Email, fieldReasons } from '../../../src/core/contract/index.ts'

const Wanted = z.strictObject({ level: z.enum(['low', 'high']), count: z.number(), name: z.string().min(3, 'must be longer') })

test.each([
  ['a missing field', { level: 'low', count: 1 }, { path: 'name', reason: 'is missing' }],
  ['another type', { level: 'low', count: 'x', name: 'abc' }, { path: 'count', reason: 'must be a number' }],
  ['a word that is not on the list', { level: 'loud', count: 1, name: 'abc' }, { path: 'level', reason: 'must be one of low, high' }],
  ['a rule with words of its own', { level: 'low', count: 1, name: 'a' }, { path: 'name', reason: 'must be longer' }],
  ['an unknown field', { level: 'low', count: 1, name: 'abc', more: 1 }, { path: 'more', reason: 'is not a known field' }],
])('%s has a plain message', (_, value, reason) => {
  expect(fieldReasons(Wanted.safeParse(value).error as z.ZodError)).toEqual([reason])
})

const Kinds = z.strictObject({
  kind: z.discriminatedUnion('kind', [z.object({ kind: z.literal('task') }), z.object({ kind: z.literal('form') })]),
  role: z.union([z.string(), z.object({ role: z.string() })]),
  format: z.literal('v1'),
})

test('a value of no kind, of no form and of another constant has a plain message', () => {
  expect(fieldReasons(Kinds.safeParse({ kind: { kind: 'robot' }, role: 5, format: 'v2' }).error as z.ZodError)).toEqual([
    { path: 'kind.kind', reason: 'must be one of task, form' },
    { path: 'role', reason: 'must be a text, or must be an object' },
    { path: 'format', reason: 'must be v1' },
  ])
})

const Bounded = z.strictObject({
  lines: z.number().max(2000),
  runs: z.coerce.number().int().min(1),
  reason: z.string().min(3),
  pin: z.string().length(6),
  slugs: z.array(z.string()).min(1).max(2),
})
const fits = { lines: 1, runs: 1, reason: 'abc', pin: '123456', slugs: ['a'] }

test.each([
  ['lines', 5000, 'must be at most 2000'],
  ['runs', 0, 'must be at least 1'],
  ['reason', 'x', 'must have at least 3 characters'],
  ['pin', '1', 'must have exactly 6 characters'],
  ['slugs', [], 'must have at least 1 entry'],
  ['slugs', ['a', 'b', 'c'], 'must have at most 2 entries'],
])('a bound of %s has a plain message', (path, value, reason) => {
  expect(fieldReasons(Bounded.safeParse({ ...fits, [path]: value }).error as z.ZodError)).toEqual([{ path, reason }])
})

describe('mail addresses', () => {
  test.each(['a@b.de', "o'hara+kita@mail.example.org", `${'l'.repeat(64)}@example.org`])('%s is one', (address) => {
    expect(Email.safeParse(address).success).toBe(true)
  })

  test.each([
    'a',
    'a@b',
    '.a@b.de',
    'a..b@c.de',
    'a.@b.de',
    'a@-b.de',
    'a@b-.de',
    `a@${'b'.repeat(64)}.de`,
    `${'l'.repeat(65)}@example.org`,
    'a b@c.de',
    'a@b.de\n',
  ])('%j is none', (address) => {
    expect(Email.safeParse(address).success).toBe(false)
  })
})
