import { expect, test } from 'vitest'
import { foldName, searchNameOf } from '../../../src/core/users/index.ts'

test.each([
  ['Özlem Çelik', 'o.celik', 'ozlem celik o.celik'],
  ['ANNA', 'anna', 'anna anna'],
  ['Йоана', 'ioana', 'иоана ioana'],
  ['𝒜nna', 'a', 'anna a'],
  [null, 'ben.lang', 'ben.lang ben.lang'],
])('%j with the localpart %s is searched and ordered as %s', (displayName, localpart, name) => {
  expect(searchNameOf({ displayName, localpart })).toBe(name)
})

test.each([
  ['Yıldız', 'YILDIZ'],
  ['Strauß', 'STRAUSS'],
  ['STRAUẞ', 'strauss'],
  ['Οδυσσεύς', 'ΟΔΥΣΣΕΥΣ'],
  ['İpek', 'ipek'],
])('%s is found as %s, and by each prefix of it', (name, asked) => {
  expect(foldName(name)).toBe(foldName(asked))
  for (let length = 1; length < asked.length; length += 1) expect(foldName(name)).toContain(foldName(asked.slice(0, length)))
})

test.each(['\ufdfa', '𝒜', '😀', 'ü', 'ΐ', 'ﬃ'])('the search text of %s repeated a hundred times fits the index', (letter) => {
  expect(Buffer.byteLength(searchNameOf({ displayName: letter.repeat(100), localpart: 'a'.repeat(255) }))).toBeLessThan(2000)
})
