import { expect, test } from 'vitest'
import { z } from 'zod'
import { validateAnswer } from '../../../src/daemon/http/validation.ts'

const user = z.object({
  id: z.string(),
  roles: z.array(z.object({ name: z.string() })),
  note: z.string().optional(),
  data: z.record(z.string(), z.unknown()),
})
const good = { id: 'usr_1', roles: [{ name: 'parent' }], data: { any: { thing: 1 } } }

test('an answer of its contract goes out as it is', () => {
  expect(validateAnswer(user, good)).toEqual(good)
})

test('what is undefined is not sent, so it is nobody’s business', () => {
  expect(() => validateAnswer(user, { ...good, secret: undefined })).not.toThrow()
})

test.each([
  ['the answer.secret', { ...good, secret: 'x' }],
  ['the answer.roles.0.holders', { ...good, roles: [{ name: 'parent', holders: ['usr_2'] }] }],
])('a field beyond it is told: %s', (path, answer) => {
  expect(() => validateAnswer(user, answer)).toThrow(`${path} is not in the contract`)
})

test('an answer that is none is refused', () => {
  expect(() => validateAnswer(user, { ...good, id: 7 })).toThrow()
})
