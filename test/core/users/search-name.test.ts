import { expect, test } from 'vitest'
import { searchNameOf } from '../../../src/core/users/index.ts'

test.each([
  ['Özlem Çelik', 'o.celik', 'ozlem celik o.celik'],
  ['ANNA', 'anna', 'anna anna'],
  ['Йоана', 'ioana', 'иоана ioana'],
  ['𝒜nna', 'a', 'anna a'],
  [null, 'ben.lang', 'ben.lang ben.lang'],
])('%j with the chat name %s is found and ordered as %s', (displayName, localpart, name) => {
  expect(searchNameOf({ displayName, localpart })).toBe(name)
})

test.each(['\ufdfa', '𝒜', '😀', 'ü'])('one who is called %s a hundred times is taken by an index', (letter) => {
  expect(Buffer.byteLength(searchNameOf({ displayName: letter.repeat(100), localpart: 'a'.repeat(255) }))).toBeLessThan(2000)
})
