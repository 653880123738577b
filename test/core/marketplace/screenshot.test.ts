import { expect, test } from 'vitest'
import { pictureOf } from '../../../src/core/marketplace/index.ts'
import { aPng } from '../../support/pictures.ts'

const jpeg = (...segments: number[][]) => new Uint8Array([0xff, 0xd8, ...segments.flat()])
const app0 = [0xff, 0xe0, 0, 4, 1, 2]
const frame = (marker: number, height: number, width: number) => [
  ...[0xff, marker, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0],
]

test('the size of a PNG or JPEG is read from its bytes', () => {
  expect(pictureOf(aPng(640, 480))).toEqual({ contentType: 'image/png', width: 640, height: 480 })
  expect(pictureOf(jpeg(app0, frame(0xc0, 480, 640)))).toEqual({ contentType: 'image/jpeg', width: 640, height: 480 })
  expect(pictureOf(jpeg(app0, [0xff], frame(0xc2, 4096, 100)))).toMatchObject({ width: 100, height: 4096 })
  // A view into a larger buffer, as network bytes are.
  const within = Buffer.concat([Buffer.from('xy'), aPng(100, 100)]).subarray(2)
  expect(pictureOf(within)).toMatchObject({ width: 100 })
})

test.each([
  ['nothing', new Uint8Array(0)],
  ['text', Buffer.from('GIF89a and more text that is long enough to have a header')],
  ['a PNG without its end', aPng(640, 480).slice(0, -4)],
  ['a PNG with a script behind it', new Uint8Array([...aPng(100, 100), ...Buffer.from('<script>')])],
  ['a JPEG without a frame', jpeg(app0)],
  ['a JPEG whose segment has no length', jpeg([0xff, 0xe0, 0, 0], frame(0xc0, 480, 640))],
  ['a JPEG that begins with its data', jpeg([0xff, 0xda, 0, 4, 0, 0], frame(0xc0, 480, 640))],
  ['a JPEG with a table for a frame', jpeg(frame(0xc4, 480, 640))],
])('%s is no picture', (_, bytes) => {
  expect(() => pictureOf(bytes)).toThrow('must be a PNG or JPEG picture')
})

test.each([
  [99, 480],
  [480, 4097],
  [0, 0],
])('%i x %i pixels are refused', (width, height) => {
  expect(() => pictureOf(jpeg(frame(0xc0, height, width)))).toThrow(`from 100 to 4096 pixels on each side, and has ${width} x ${height}`)
})
