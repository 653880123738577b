import { z } from 'zod'
import { problem } from '../kit/index.ts'

export const Screenshot = z.object({
  id: z.string(),
  contentType: z.string(),
  bytes: z.int(),
  width: z.int(),
  height: z.int(),
})
export type Screenshot = Readonly<z.infer<typeof Screenshot>>

export const maxScreenshotBytes = 1024 * 1024
/** Screenshots of one submission. */
export const maxScreenshots = 6
/** Pixels of either side: a small file may unpack to a picture that a phone cannot show. */
const sides = { min: 100, max: 4096 }

type Size = Readonly<{ width: number; height: number }>
type Picture = Size & Readonly<{ contentType: string }>

/** The type and size of a picture, read from its bytes. Throws VALIDATION unless it is a PNG or JPEG of the permitted size. */
export function pictureOf(bytes: Uint8Array): Picture {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const png = pngSize(view)
  const size = png ?? jpegSize(view)
  if (!size) throw invalid('must be a PNG or JPEG picture')
  const { width, height } = size
  if (Math.min(width, height) < sides.min || Math.max(width, height) > sides.max)
    throw invalid(`must have from ${sides.min} to ${sides.max} pixels on each side, and has ${width} x ${height}`)
  return { width, height, contentType: png ? 'image/png' : 'image/jpeg' }
}

const invalid = (reason: string) => problem('VALIDATION', `screenshot: ${reason}`, { details: [{ path: 'screenshot', reason }] })

/** The size in the header, which comes first; undefined for anything but a PNG that has its end. */
function pngSize(view: DataView): Size | undefined {
  if (view.byteLength < 45 || view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a) return undefined
  const hasHeader = view.getUint32(8) === 13 && view.getUint32(12) === 0x49484452
  const hasEnd = view.getUint32(view.byteLength - 8) === 0x49454e44
  return hasHeader && hasEnd ? { width: view.getUint32(16), height: view.getUint32(20) } : undefined
}

/** Markers of JPEG that begin a frame: all of C0 to CF but tables and the arithmetic code. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** The size in the first frame; undefined for anything but a JPEG that has one. */
function jpegSize(view: DataView): Size | undefined {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined
  for (let at = 2; at + 9 <= view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return undefined
    const marker = view.getUint8(at + 1)
    if (marker === 0xff) {
      at += 1 // a byte that fills
      continue
    }
    if (isFrame(marker)) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
    const length = view.getUint16(at + 2)
    if (marker === 0xda || length < 2) return undefined
    at += 2 + length
  }
  return undefined
}
