/** Removes a byte order mark, which spreadsheets and editors write. */
const strict = new TextDecoder('utf-8', { fatal: true })
const exact = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text without its byte order mark, unless `keepMark`; undefined if the bytes are not UTF-8. Never replaces a byte: the text would be damaged
 * in silence.
 */
export function utf8Text(bytes: Uint8Array, { keepMark = false }: Readonly<{ keepMark?: boolean }> = {}): string | undefined {
  try {
    return (keepMark ? exact : strict).decode(bytes)
  } catch {
    return undefined
  }
}

const lineEnd = 0x0a

/** The first line, counted from 1, that is not UTF-8; undefined if all are. */
function lineWithoutUtf8(bytes: Uint8Array): number | undefined {
  for (let start = 0, line = 1; start < bytes.length; line += 1) {
    const end = bytes.indexOf(lineEnd, start)
    const next = end < 0 ? bytes.length : end + 1
    if (utf8Text(bytes.subarray(start, next)) === undefined) return line
    start = next
  }
  return undefined
}

/** The fault of bytes that are not UTF-8, to follow their name. */
export const notUtf8 = (bytes: Uint8Array): string =>
  `line ${lineWithoutUtf8(bytes)} is not UTF-8. fix: save it with the encoding UTF-8 in your editor`
