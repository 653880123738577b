import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256Hex } from '../../src/core/kit/index.ts'
import { nativeSha256Hex } from '../../src/node/index.ts'

test('hashes any text, and any bytes, as everybody else who proves them does', () => {
  const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.uint8Array())
  fc.assert(
    fc.property(anything, (given) => {
      expect(nativeSha256Hex(given)).toBe(sha256Hex(given))
    }),
  )
  expect(nativeSha256Hex('half of one: \ud83d')).toBe(sha256Hex('half of one: \ud83d'))
})
