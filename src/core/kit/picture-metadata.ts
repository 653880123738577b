type Bytes = Uint8Array<ArrayBuffer>

const textAt = (bytes: Uint8Array, at: number, length: number) => String.fromCharCode(...bytes.subarray(at, at + length))
const big16 = (bytes: Uint8Array, at: number) => (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0)
const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A picture has some hundred parts at most; one that is made of tiny ones takes the thread for seconds. */
export const maxPictureParts = 5000

function joined(parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Segments of applications that say how a picture is drawn: its form, colour profile and colour space. */
const drawnBy: readonly (readonly [marker: number, name: string])[] = [
  [0xe0, 'JFIF\0'],
  [0xe2, 'ICC_PROFILE\0'],
  [0xee, 'Adobe'],
]

/** EXIF, XMP and IPTC (among them the place where a photo was taken), comments, and pictures inside the picture. */
const isPrivate = (marker: number, bytes: Uint8Array, at: number) =>
  marker === 0xfe ||
  (marker >= 0xe0 && marker <= 0xef && !drawnBy.some(([kept, name]) => kept === marker && textAt(bytes, at + 4, name.length) === name))

/** The length of a JFIF segment without a preview. */
const jfifBytes = 18

/** The segment without the preview that may follow its fields. */
const withoutPreview = (marker: number, segment: Uint8Array): Uint8Array =>
  marker === 0xe0 && segment.length > jfifBytes ? Uint8Array.from([0xff, 0xe0, 0, 16, ...segment.subarray(4, 16), 0, 0]) : segment

const isRestart = (marker: number) => marker >= 0xd0 && marker <= 0xd7
const [startOfScan, endOfImage, fill] = [0xda, 0xd9, 0xff]

/** Behind its end a photo of a phone may carry others, each with its own metadata. */
function jpegWithout(bytes: Uint8Array): Bytes | undefined {
  const kept: Uint8Array[] = [bytes.subarray(0, 2)]
  for (let at = 2, parts = 1; at + 2 <= bytes.length; parts += 1) {
    if (parts > maxPictureParts) return undefined
    const marker = bytes[at + 1] ?? 0
    if (marker === fill) {
      at += 1
      continue
    }
    if (marker === endOfImage) {
      kept.push(bytes.subarray(at, at + 2))
      break
    }
    const end = at + 2 + big16(bytes, at + 2)
    if (!isPrivate(marker, bytes, at)) kept.push(withoutPreview(marker, bytes.subarray(at, end)))
    const turned = marker === 0xe1 ? orientationIn(bytes.subarray(at, end)) : undefined
    if (turned !== undefined) kept.push(orientationSegment(turned))
    at = marker === startOfScan ? endOfScan(bytes, end) : end
    if (marker === startOfScan) kept.push(bytes.subarray(end, at))
  }
  return joined(kept)
}

/** Where the marker behind the data of a scan begins. A zero byte behind FF is data. */
function endOfScan(bytes: Uint8Array, from: number): number {
  for (let at = from; at + 1 < bytes.length; at += 1) {
    const marker = bytes[at + 1] ?? 0
    if (bytes[at] === 0xff && marker !== 0 && marker !== fill && !isRestart(marker)) return at
  }
  return bytes.length
}

const orientationTag = 0x0112

/** How a photo is turned when it is shown, where it is turned at all (EXIF: 2 to 8). */
function orientationIn(segment: Uint8Array): number | undefined {
  if (textAt(segment, 4, 6) !== 'Exif\0\0') return undefined
  const tiff = viewOf(segment.subarray(10))
  if (tiff.byteLength < 10) return undefined
  const isLittle = tiff.getUint16(0) === 0x4949
  const list = tiff.getUint32(4, isLittle)
  const count = list + 2 <= tiff.byteLength ? tiff.getUint16(list, isLittle) : 0
  for (let entry = list + 2; entry < list + 2 + count * 12 && entry + 12 <= tiff.byteLength; entry += 12) {
    if (tiff.getUint16(entry, isLittle) !== orientationTag) continue
    const value = tiff.getUint16(entry + 8, isLittle)
    return value >= 2 && value <= 8 ? value : undefined
  }
  return undefined
}

/** An EXIF segment that says nothing else: one entry of type SHORT, in big-endian order. */
const exifOfOrientation = 'Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0'

function orientationSegment(value: number): Uint8Array {
  const data = [...Array.from(exifOfOrientation, (letter) => letter.charCodeAt(0)), value, 0, 0, 0, 0, 0, 0]
  return Uint8Array.from([0xff, 0xe1, 0, data.length + 2, ...data])
}

/** The chunks by which a PNG is drawn; all others are text, time, EXIF, or unknown. */
const drawn = 'IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP sBIT bKGD pHYs acTL fcTL fdAT'.split(' ')

function pngWithout(bytes: Uint8Array): Bytes | undefined {
  const kept: Uint8Array[] = [bytes.subarray(0, 8)]
  for (let at = 8, parts = 1; at + 12 <= bytes.length; parts += 1) {
    if (parts > maxPictureParts) return undefined
    const [end, type] = [at + 12 + viewOf(bytes).getUint32(at), textAt(bytes, at + 4, 4)]
    if (drawn.includes(type)) kept.push(bytes.subarray(at, end))
    if (type === 'IEND') break
    at = end
  }
  return joined(kept)
}

/** The chunks with which a WebP is drawn. */
const drawnInWebp = ['VP8X', 'VP8 ', 'VP8L', 'ALPH', 'ANIM', 'ANMF', 'ICCP']

/** In the flags of an extended WebP: it has EXIF, it has XMP. */
const metadataFlags = 0x0c

function webpWithout(bytes: Uint8Array): Bytes | undefined {
  const kept: Uint8Array[] = [bytes.subarray(0, 12)]
  const wholeEnd = Math.min(bytes.length, 8 + viewOf(bytes).getUint32(4, true))
  for (let at = 12, parts = 1; at + 8 <= wholeEnd; parts += 1) {
    if (parts > maxPictureParts) return undefined
    const length = viewOf(bytes).getUint32(at + 4, true)
    const end = at + 8 + length + (length % 2)
    if (drawnInWebp.includes(textAt(bytes, at, 4))) kept.push(bytes.subarray(at, end))
    at = end
  }
  const whole = joined(kept)
  viewOf(whole).setUint32(4, whole.length - 8, true)
  if (textAt(whole, 12, 4) === 'VP8X') whole[20] = (whole[20] ?? 0) & ~metadataFlags
  return whole
}

const withoutBy = { 'image/jpeg': jpegWithout, 'image/png': pngWithout, 'image/webp': webpWithout }

/** The picture without what a camera or a program wrote beside it: place, device, names, previews. How a JPEG is turned stays. `bytes` is a readable picture. Undefined for too many parts. */
export const withoutMetadata = (bytes: Uint8Array, { contentType }: Readonly<{ contentType: keyof typeof withoutBy }>): Bytes | undefined =>
  withoutBy[contentType](bytes)
