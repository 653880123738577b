import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pictureOf, readPicture } from '../../../src/core/kit/index.ts'
import { aPng } from '../../support/images.ts'

const limits = { minSide: 16, maxSide: 2048 }

/** Segments of a JPEG: each with its length before its data. */
const segment = (marker: number, data: readonly number[]) => [0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 255, ...data]
const frame = (width: number, height: number) => [8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0]
const aJpeg = (width: number, height: number, kind = 0xc0) =>
  Uint8Array.from([
    ...[0xff, 0xd8, ...segment(0xe0, [0x4a, 0x46, 0x49, 0x46, 0]), ...segment(0xc4, [0, 0])],
    ...[...segment(kind, frame(width, height)), ...segment(0xda, [1, 1, 0, 0, 63, 0]), 1, 2, 3, 0xff, 0xd9],
  ])

const little = (value: number, bytes: number) => Array.from({ length: bytes }, (_, at) => (value >> (8 * at)) & 255)
const ascii = (text: string) => [...text].map((letter) => letter.charCodeAt(0))
const aWebp = (form: string, data: readonly number[]) => {
  const body = [...ascii('WEBP'), ...ascii(form), ...little(data.length, 4), ...data]
  return Uint8Array.from([...ascii('RIFF'), ...little(body.length, 4), ...body])
}
const lossy = (width: number, height: number) => aWebp('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, ...little(width, 2), ...little(height, 2), 0, 0])
const lossless = (width: number, height: number) => aWebp('VP8L', [0x2f, ...little((width - 1) | ((height - 1) << 14), 4), 0])
const extended = (width: number, height: number) => aWebp('VP8X', [0, 0, 0, 0, ...little(width - 1, 3), ...little(height - 1, 3)])

const images: readonly (readonly [string, (width: number, height: number) => Uint8Array, string])[] = [
  ['PNG', aPng, 'image/png'],
  ['JPEG', aJpeg, 'image/jpeg'],
  ['progressive JPEG', (width, height) => aJpeg(width, height, 0xc2), 'image/jpeg'],
  ['lossy WebP', lossy, 'image/webp'],
  ['lossless WebP', lossless, 'image/webp'],
  ['extended WebP', extended, 'image/webp'],
]

test.each(images)('a %s has its size and type by its content', (_, make, contentType) => {
  expect(readPicture(make(300, 120), limits)).toEqual({ contentType, width: 300, height: 120 })
  const { minSide, maxSide } = limits
  expect(readPicture(make(maxSide, minSide), limits)).toEqual({ contentType, width: maxSide, height: minSide })
  expect(readPicture(make(minSide - 1, 100), limits)).toEqual({ refused: 'size', width: 15, height: 100 })
  expect(readPicture(make(100, maxSide + 1), limits)).toEqual({ refused: 'size', width: 100, height: 2049 })
})

test.each(images)('a %s that is cut anywhere is refused', (_, make) => {
  const whole = make(64, 64)
  for (let length = 12; length < whole.length; length += 1)
    expect(readPicture(whole.subarray(0, length), limits)).toEqual({ refused: 'damaged' })
})

test.each([
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"/>'],
  ['SVG behind a declaration', '<?xml version="1.0"?><svg/>'],
  ['HTML', '<html><script>alert(1)</script>'],
  ['GIF', 'GIF89a'],
  ['nothing', ''],
])('%s is no picture', (_, text) => {
  expect(readPicture(Buffer.from(text), limits)).toEqual({ refused: 'form' })
})

test('any bytes behind a beginning are an answer, never an exception', () => {
  const beginnings = ['\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'RIFF\x10\0\0\0WEBP'].map((text) => Buffer.from(text, 'latin1'))
  fc.assert(
    fc.property(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 80 }), (beginning, rest) => {
      const read = readPicture(Buffer.concat([beginning, rest]), limits)
      return 'refused' in read || read.width >= limits.minSide
    }),
  )
})

test('a marker of a JPEG may be filled up', () => {
  const [whole, filled] = [aJpeg(300, 120), aJpeg(300, 120)]
  const at = whole.indexOf(0xc4) - 1
  const read = Uint8Array.from([...filled.subarray(0, at), 0xff, 0xff, ...filled.subarray(at)])
  expect(readPicture(read, limits)).toMatchObject({ width: 300, height: 120 })
})

test.each([
  [Buffer.from('GIF89a'), 'logo must be a PNG, JPEG or WebP image'],
  [aPng(64, 64).subarray(0, 60), 'logo is damaged or incomplete. fix: save the image again'],
  [aJpeg(3000, 9), 'logo must have 16 to 2048 pixels on each side, and has 3000 × 9'],
])('a refused part is named with what to do', (bytes, message) => {
  expect(() => pictureOf(bytes, { part: 'logo', ...limits })).toThrow(message)
})

const place = ascii('48.1372, 11.5756')
const tiff = (turned: number) => [
  ...[...ascii('II'), 42, 0, ...little(8, 4), ...little(2, 2)],
  ...[...little(0x8825, 2), 4, 0, ...little(1, 4), ...little(38, 4)],
  ...[...little(0x0112, 2), 3, 0, ...little(1, 4), ...little(turned, 2), 0, 0],
  ...little(0, 4),
  ...place,
]
const exif = (turned: number) => segment(0xe1, [...ascii('Exif\0\0'), ...tiff(turned)])
const jfif = (side: number) =>
  segment(0xe0, [...ascii('JFIF\0'), 1, 2, 1, 0, 72, 0, 72, side, side, ...Array.from({ length: side * side * 3 }, () => 7)])
/** A progressive photo with what phones and editors write into it, and a second picture behind its end. */
const aPhoto = (turned: number, isPlain = false) => {
  const beside = (bytes: readonly number[]) => (isPlain ? [] : bytes)
  const scan = [...segment(0xda, [1, 1, 0, 0, 63, 0]), 1, 0xff, 0, 0xff, 0xd3, 2]
  return Uint8Array.from([
    ...[0xff, 0xd8, ...jfif(isPlain ? 0 : 2), ...beside([...segment(0xe0, [...ascii('JFXX\0'), ...place]), ...exif(turned)])],
    ...beside([...segment(0xed, [...ascii('Photoshop 3.0\0'), ...place]), ...segment(0xfe, place)]),
    ...[...segment(0xe2, [...ascii('ICC_PROFILE\0'), 1, 1]), ...beside(segment(0xe2, [...ascii('MPF\0'), ...place]))],
    ...[...segment(0xee, ascii('Adobe')), ...segment(0xc2, frame(300, 120)), ...scan],
    ...[...beside(segment(0xe1, [...ascii('http://ns.adobe.com/xap/1.0/\0'), ...place])), ...segment(0xc4, [0, 0]), ...scan],
    ...[0xff, 0xd9, ...beside([0xff, 0xd8, ...exif(1), 0xff, 0xd9])],
  ])
}
const pngChunk = (type: string, data: readonly number[]) => [0, 0, 0, data.length, ...ascii(type), ...data, 0, 0, 0, 0]
const webpChunk = (type: string, data: readonly number[]) => [
  ...ascii(type),
  ...little(data.length, 4),
  ...data,
  ...(data.length % 2 ? [0] : []),
]
const contentOf = (bytes: Uint8Array) => Buffer.from(pictureOf(bytes, { part: 'logo', ...limits }).content)

test('a photo that is stored does not say where it was taken', () => {
  expect(contentOf(aPhoto(1))).toEqual(Buffer.from(aPhoto(1, true)))
})

test('a photo that is held upright stays so', () => {
  const content = contentOf(aPhoto(6))
  expect(content.includes(Buffer.from(place))).toBe(false)
  const upright = segment(0xe1, [
    ...[...ascii('Exif\0\0MM'), 0, 42, 0, 0, 0, 8, 0, 1],
    ...[0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0],
  ])
  expect(content.includes(Buffer.from(upright))).toBe(true)
  expect(contentOf(content)).toEqual(content)
})

test('texts and EXIF of a PNG are not stored', () => {
  const plain = aPng(64, 64)
  const [head, rest] = [plain.subarray(0, 33), plain.subarray(33)]
  const beside = [...pngChunk('tEXt', place), ...pngChunk('eXIf', tiff(1)), ...pngChunk('tIME', place)]
  expect(contentOf(Uint8Array.from([...head, ...beside, ...rest, ...place]))).toEqual(plain)
})

test('EXIF and XMP of a WebP are not stored, nor announced', () => {
  const picture = [0x2f, ...little(63 | (63 << 14), 4), 0, 7]
  const extended = (flags: number, more: readonly number[]) => {
    const size = [flags, 0, 0, 0, ...little(63, 3), ...little(63, 3)]
    const body = [...ascii('WEBP'), ...webpChunk('VP8X', size), ...webpChunk('VP8L', picture), ...more]
    return Uint8Array.from([...ascii('RIFF'), ...little(body.length, 4), ...body])
  }
  const photo = extended(0x1c, [...webpChunk('EXIF', tiff(1)), ...webpChunk('XMP ', place), ...webpChunk('NOTE', place)])
  expect(contentOf(photo)).toEqual(Buffer.from(extended(0x10, [])))
})

test.each(images)('a %s without metadata is stored as it is', (_, make) => {
  expect(contentOf(make(64, 64))).toEqual(Buffer.from(make(64, 64)))
})

/** Segments and chunks of the least size, which take far more time than their bytes. */
const tiny: [string, (parts: number) => Uint8Array][] = [
  [
    'JPEG',
    (parts) => {
      const [head, scan] = [
        [0xff, 0xd8, 0xff, 0xc0, 0, 8, 8, 0, 100, 0, 100, 1],
        [0xff, 0xda, 0, 2, 1],
      ]
      return Uint8Array.from([...head, ...Array.from({ length: parts }, () => [0xff, 0xc4, 0, 2]).flat(), ...scan, 0xff, 0xd9])
    },
  ],
  [
    'JPEG behind its scan',
    (parts) => {
      const head = [0xff, 0xd8, 0xff, 0xc0, 0, 8, 8, 0, 100, 0, 100, 1, 0xff, 0xda, 0, 2, 1]
      return Uint8Array.from([...head, ...Array.from({ length: parts }, () => [0xff, 0xc4, 0, 2]).flat(), 0xff, 0xd9])
    },
  ],
  [
    'WebP',
    (parts) => {
      const text = (letters: string) => [...letters].map((letter) => letter.charCodeAt(0))
      const chunks = [...text('VP8X'), 10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 99, 0, 0]
      const all = [...text('WEBP'), ...chunks, ...Array.from({ length: parts }, () => [...text('VP8 '), 0, 0, 0, 0]).flat()]
      return Uint8Array.from([...text('RIFF'), all.length & 255, (all.length >> 8) & 255, all.length >> 16, 0, ...all])
    },
  ],
]

test.each(tiny)('a %s of thousands of tiny parts is refused', (_, make) => {
  const limits = { part: 'file', minSide: 16, maxSide: 2048 }
  expect(pictureOf(make(100), limits)).toMatchObject({ width: 100, height: 100 })
  expect(() => pictureOf(make(6000), limits)).toThrow('file is damaged or incomplete')
})
