import { maxPictureParts, withoutMetadata } from './picture-metadata.ts'
import { problem } from './problem.ts'

/** Pixels of each side: a small file may unpack to a picture that a phone cannot show. */
type PictureLimits = Readonly<{ minSide: number; maxSide: number }>

export type Picture = Readonly<{ contentType: 'image/png' | 'image/jpeg' | 'image/webp'; width: number; height: number }>

type Size = Pick<Picture, 'width' | 'height'>

const textAt = (bytes: Uint8Array, at: number, length: number) => String.fromCharCode(...bytes.subarray(at, at + length))

/** Reads as many bytes as there are: a position behind the end is 0. */
const view = (bytes: Uint8Array) => {
  const at = (position: number) => bytes[position] ?? 0
  return {
    at,
    big16: (position: number) => at(position) * 256 + at(position + 1),
    big32: (position: number) => at(position) * 2 ** 24 + at(position + 1) * 2 ** 16 + at(position + 2) * 256 + at(position + 3),
    little16: (position: number) => at(position) + at(position + 1) * 256,
    little24: (position: number) => at(position) + at(position + 1) * 256 + at(position + 2) * 2 ** 16,
    little32: (position: number) => at(position) + at(position + 1) * 256 + at(position + 2) * 2 ** 16 + at(position + 3) * 2 ** 24,
  }
}

/** Walks the chunks to the last one. */
function pngSize(bytes: Uint8Array): Size | undefined {
  const { big32 } = view(bytes)
  if (big32(8) !== 13 || textAt(bytes, 12, 4) !== 'IHDR') return undefined
  let hasData = false
  for (let at = 8, parts = 1; at + 12 <= bytes.length && parts <= maxPictureParts; at += 12 + big32(at), parts += 1) {
    const type = textAt(bytes, at + 4, 4)
    if (type === 'IDAT') hasData = true
    if (type === 'IEND') return hasData ? { width: big32(16), height: big32(20) } : undefined
  }
  return undefined
}

const [startOfScan, endOfImage, fill] = [0xda, 0xd9, 0xff]
/** Markers that begin a frame: baseline, progressive and others. C4, C8 and CC are tables. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** Walks the segments to the scan; an end has to follow it. */
function jpegSize(bytes: Uint8Array): Size | undefined {
  const { at, big16 } = view(bytes)
  let size: Size | undefined
  for (let position = 2, parts = 1; position + 4 <= bytes.length && parts <= maxPictureParts; parts += 1) {
    const marker = at(position + 1)
    if (at(position) !== 0xff || marker < 0xc0) return undefined
    if (marker === fill) {
      position += 1
      continue
    }
    if (marker === startOfScan) return size && hasEnd(bytes, position) ? size : undefined
    if (isFrame(marker)) size = { height: big16(position + 5), width: big16(position + 7) }
    position += 2 + big16(position + 2)
  }
  return undefined
}

function hasEnd(bytes: Uint8Array, from: number): boolean {
  for (let at = bytes.length - 2; at > from; at -= 1) if (bytes[at] === 0xff && bytes[at + 1] === endOfImage) return true
  return false
}

function webpSize(bytes: Uint8Array): Size | undefined {
  const { at, little16, little24, little32 } = view(bytes)
  if (8 + little32(4) > bytes.length) return undefined
  const form = textAt(bytes, 12, 4)
  if (form === 'VP8X') return { width: little24(24) + 1, height: little24(27) + 1 }
  if (form === 'VP8L' && at(20) === 0x2f) {
    const bits = little32(21)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  if (form === 'VP8 ' && little24(23) === 0x2a019d) return { width: little16(26) & 0x3fff, height: little16(28) & 0x3fff }
  return undefined
}

const forms = [
  { contentType: 'image/png', isForm: (bytes: Uint8Array) => textAt(bytes, 0, 8) === '\x89PNG\r\n\x1a\n', sizeOf: pngSize },
  { contentType: 'image/jpeg', isForm: (bytes: Uint8Array) => textAt(bytes, 0, 3) === '\xff\xd8\xff', sizeOf: jpegSize },
  {
    contentType: 'image/webp',
    isForm: (bytes: Uint8Array) => textAt(bytes, 0, 4) === 'RIFF' && textAt(bytes, 8, 4) === 'WEBP',
    sizeOf: webpSize,
  },
] as const

/** Why a file is no picture. */
export type PictureRefusal = Readonly<{ refused: 'form' } | { refused: 'damaged' } | ({ refused: 'size' } & Size)>

/** The picture by its content alone: names and declared types are not trusted. */
export function readPicture(bytes: Uint8Array, { minSide, maxSide }: PictureLimits): Picture | PictureRefusal {
  const form = forms.find(({ isForm }) => isForm(bytes))
  if (!form) return { refused: 'form' }
  const size = form.sizeOf(bytes)
  if (!size) return { refused: 'damaged' }
  const { width, height } = size
  if (Math.min(width, height) < minSide || Math.max(width, height) > maxSide) return { refused: 'size', ...size }
  return { contentType: form.contentType, width, height }
}

/** The picture of an uploaded part; `content` is what may be stored: without metadata. Throws VALIDATION, naming the part. */
export function pictureOf(bytes: Uint8Array, { part, ...limits }: PictureLimits & Readonly<{ part: string }>) {
  const read = readPicture(bytes, limits)
  const content = 'refused' in read ? undefined : withoutMetadata(bytes, read)
  if (content && !('refused' in read)) return { ...read, content }
  const reason = refusalText('refused' in read ? read : { refused: 'damaged' }, limits)
  throw problem('VALIDATION', `${part} ${reason}`, { details: [{ path: part, reason }] })
}

function refusalText(refusal: PictureRefusal, { minSide, maxSide }: PictureLimits): string {
  if (refusal.refused === 'form') return 'must be a PNG, JPEG or WebP image'
  if (refusal.refused === 'damaged') return 'is damaged or incomplete. fix: save the image again'
  return `must have ${minSide} to ${maxSide} pixels on each side, and has ${refusal.width} × ${refusal.height}`
}
