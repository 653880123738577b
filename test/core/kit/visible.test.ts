import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isVisible, visiblePattern } from '../../../src/core/kit/index.ts'

test('the pattern in documents refuses exactly what is not visible, or nothing but space', () => {
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
