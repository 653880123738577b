import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BrandingChange,
  brandingOf,
  contrast,
  type LogoRefusal,
  logoLimits,
  logoRefusalText,
  minContrast,
  readLogo,
  textOn,
} from '../../../src/core/branding/index.ts'
import { aPng } from '../../support/images.ts'

const color = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)

test.each([
  ['#000000', '#ffffff', 21],
  ['#ffffff', '#ffffff', 1],
  ['#0b5394', '#ffffff', 7.8],
  // The grey that just passes, and the one before it.
  ['#767676', '#ffffff', 4.5],
  ['#777777', '#ffffff', 4.4],
])('the contrast of %s and %s is %d', (one, other, expected) => {
  expect([contrast(one, other), contrast(other, one)]).toEqual([expected, expected])
})

test('text on any colour is readable in black or in white', () => {
  fc.assert(fc.property(color, (one) => contrast(one, textOn(one)) >= minContrast))
  expect([textOn('#ffee00'), textOn('#0b5394')]).toEqual(['#000000', '#ffffff'])
})

test('a branding has a text colour with its colour alone, and the path of its logo', () => {
  const none = { tenantName: 'One', color: null, logoId: null }
  expect(brandingOf(none)).toEqual({ tenantName: 'One', color: null, textColor: null, logoPath: null })
  expect(brandingOf({ ...none, color: '#0b5394', logoId: 'logo_1' })).toMatchObject({
    textColor: '#ffffff',
    logoPath: '/api/public/logos/logo_1',
  })
})

test.each(['0b5394', '#0b539', '#0b53945', '#0b539g', 'red', '#0b5394;', 'url(x)', ''])('%j is no colour', (text) => {
  expect(BrandingChange.safeParse({ color: text }).success).toBe(false)
})

test('a colour is stored in lower case, and a change changes something', () => {
  expect(BrandingChange.parse({ color: '#FFEE00' })).toEqual({ color: '#ffee00' })
  expect(BrandingChange.parse({ color: null })).toEqual({ color: null })
  expect(BrandingChange.safeParse({}).success).toBe(false)
})

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
  expect(readLogo(make(300, 120))).toEqual({ contentType, width: 300, height: 120 })
  const { minSide, maxSide } = logoLimits
  expect(readLogo(make(maxSide, minSide))).toEqual({ contentType, width: maxSide, height: minSide })
  expect(readLogo(make(minSide - 1, 100))).toEqual({ refused: 'size', width: 15, height: 100 })
  expect(readLogo(make(100, maxSide + 1))).toEqual({ refused: 'size', width: 100, height: 2049 })
})

test.each(images)('a %s that is cut anywhere is refused', (_, make) => {
  const whole = make(64, 64)
  for (let length = 12; length < whole.length; length += 1) expect(readLogo(whole.subarray(0, length))).toEqual({ refused: 'damaged' })
})

test.each([
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"/>'],
  ['SVG behind a declaration', '<?xml version="1.0"?><svg/>'],
  ['HTML', '<html><script>alert(1)</script>'],
  ['GIF', 'GIF89a'],
  ['nothing', ''],
])('%s is no logo', (_, text) => {
  expect(readLogo(Buffer.from(text))).toEqual({ refused: 'form' })
})

test('any bytes behind a beginning are an answer, never an exception', () => {
  const beginnings = ['\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'RIFF\x10\0\0\0WEBP'].map((text) => Buffer.from(text, 'latin1'))
  fc.assert(
    fc.property(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 80 }), (beginning, rest) => {
      const read = readLogo(Buffer.concat([beginning, rest]))
      return 'refused' in read ? logoRefusalText(read).length > 0 : read.width >= logoLimits.minSide
    }),
  )
})

test('each refusal says what to do', () => {
  const refusals: LogoRefusal[] = [{ refused: 'form' }, { refused: 'damaged' }, { refused: 'size', width: 3000, height: 9 }]
  expect(refusals.map(logoRefusalText)).toEqual([
    'must be a PNG, JPEG or WebP image',
    'is damaged or incomplete. fix: save the image again',
    'must have 16 to 2048 pixels on each side, and has 3000 × 9',
  ])
})
