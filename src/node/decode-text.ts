import { utf8Text } from '../core/kit/index.ts'

/** `encoding`: `UTF-8`, `UTF-16` or `Windows-1252` as recognised, or the name that the caller gave. */
type DecodedText = Readonly<{ text: string; encoding: string }>

/** Text of a file that another program wrote, in the encoding it most likely has; undefined if it fits none. */
export async function decodeText(bytes: Uint8Array): Promise<DecodedText | undefined> {
  const utf16 = byteOrderOf(bytes)
  if (utf16) return decodedAs(bytes, utf16, 'UTF-16')
  const text = utf8Text(bytes)
  if (text !== undefined) return { text, encoding: 'UTF-8' }
  const guessed = await decodedAs(bytes, 'windows-1252', 'Windows-1252')
  return guessed && !isMisread(guessed.text) ? guessed : undefined
}

/** Text in a named encoding; undefined if the bytes do not fit it, `unknown` for an unknown encoding. */
export async function decodeTextAs(bytes: Uint8Array, encoding: string): Promise<DecodedText | undefined | 'unknown'> {
  const { encodingExists } = (await import('iconv-lite')).default
  return encodingExists(encoding) ? decodedAs(bytes, encoding, encoding) : 'unknown'
}

/** Not TextDecoder: that of Node.js 20 reads windows-1252 as ISO-8859-1, which has no quotation marks, dashes and Š. */
async function decodedAs(bytes: Uint8Array, encoding: string, name: string): Promise<DecodedText | undefined> {
  const text = /^utf-16/.test(encoding) ? utf16Text(bytes, encoding) : (await import('iconv-lite')).default.decode(bytes, encoding)
  return text === undefined || text.includes('\ufffd') || text.includes('\0') ? undefined : { text, encoding: name }
}

function utf16Text(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** By the byte order mark; without one by the zero bytes, of which every second byte of western text is one. */
function byteOrderOf(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  if (!bytes.includes(0)) return undefined
  let [even, odd] = [0, 0]
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) {
    if (at % 2 === 0) even += 1
    else odd += 1
  }
  return odd > even ? 'utf-16le' : 'utf-16be'
}

/** Signs inside a word, and capitals of Windows-1252 before small letters in a word: files of DOS and old Macs read as Windows-1252 have them. */
const misread = /\p{L}[^\p{L}\p{M}\p{N}\s!-/:-@[-`{-~\u2018\u2019\u2013\u00b4\u00b7]\p{L}|\p{L}[\u0160\u0178\u017d\u0152]\p{Ll}/u
const isMisread = (text: string): boolean => misread.test(text)
