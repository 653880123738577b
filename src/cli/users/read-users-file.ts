import { problem } from '../../core/kit/index.ts'
import { readFileBytes } from '../kit/index.ts'

/** The text of a CSV file of another program, and the encoding in which it was read. Throws USAGE. */
export async function readUsersFile(file: string, encoding: string | undefined): Promise<{ csv: string; encoding: string }> {
  const [bytes, { decodeText, decodeTextAs }] = await Promise.all([readFileBytes(file), import('../../node/decode-text.ts')])
  if (isSpreadsheet(bytes)) throw problem('USAGE', `${file} is a spreadsheet or another document. fix: open it, and save it as "CSV UTF-8"`)
  const decoded = encoding === undefined ? await decodeText(bytes) : await decodeTextAs(bytes, encoding)
  if (decoded === 'unknown')
    throw problem('USAGE', `--encoding ${encoding} is not known. fix: pass one such as windows-1252, windows-1250, cp850 or macintosh`)
  if (decoded) return { csv: decoded.text, encoding: decoded.encoding }
  throw problem(
    'USAGE',
    encoding === undefined
      ? `cannot read ${file}: its letters are neither UTF-8, UTF-16 nor Windows-1252. fix: save it as "CSV UTF-8" in your spreadsheet, or pass --encoding cp850 (DOS) or macintosh`
      : `cannot read ${file} as ${encoding}. fix: leave out --encoding, or save the file as "CSV UTF-8" in your spreadsheet`,
  )
}

/** How the files of Excel, LibreOffice and Numbers begin, those of Excel 2003, and PDF. */
const documentStarts = ['504b0304', 'd0cf11e0', '25504446']
const isSpreadsheet = (bytes: Uint8Array): boolean => documentStarts.includes(Buffer.from(bytes.subarray(0, 4)).toString('hex'))

const maxSamples = 3
const hasAccent = (name: string): boolean => /[^ -~]/.test(name)

/** Names that show whether an encoding is right: those with letters beyond ASCII first. */
export function sampleNames(names: readonly (string | null)[]): string[] {
  const known = names.filter((name) => name !== null)
  return [...known.filter(hasAccent), ...known.filter((name) => !hasAccent(name))].slice(0, maxSamples)
}
