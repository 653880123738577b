import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { isVisible, visiblePattern } from '../../../src/core/kit/index.ts'
import { SpaceName } from '../../../src/core/spaces/index.ts'
import { DisplayName } from '../../../src/core/users/index.ts'

test('the pattern in documents rejects exactly invisible text and whitespace', () => {
  const odd = fc.constantFrom(
    ' ',
    '\t',
    '\n',
    '\u0000',
    '\u001f',
    '\u0085',
    '\u00a0',
    '\u202e',
    '\u2066',
    '\u2028',
    '\u3000',
    '\ufeff',
    'a',
    'ä',
    '🦆',
  )
  const text = fc.array(fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 1 })), { maxLength: 8 }).map((parts) => parts.join(''))
  const form = new RegExp(visiblePattern)
  fc.assert(
    fc.property(text, (given) => void expect([given, form.test(given)]).toEqual([given, given.trim() !== '' && isVisible(given.trim())])),
    { numRuns: 300 },
  )
})

test.each([
  ['of a person', DisplayName],
  ['of a space', SpaceName],
])('the length of a name %s counts as documented, with trimmed whitespace', (_, name) => {
  expect(name.safeParse(`${' '.repeat(99)}a`)).toMatchObject({ success: true, data: 'a' })
  expect(name.safeParse(`${' '.repeat(100)}a`).success).toBe(false)
  expect(z.toJSONSchema(name, { io: 'input' })).toMatchObject({ minLength: 1, maxLength: 100, pattern: visiblePattern })
})
