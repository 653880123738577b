import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { notUtf8, type ProblemCode, problem, utf8Text } from '../core/kit/index.ts'

/** `keepMark`: the text keeps its byte order mark, for a file that is compared or written again. */
type Options = Readonly<{ code?: ProblemCode; keepMark?: boolean }>

/** The text of a file that a person wrote. Throws `code` naming the line that is not UTF-8, and the errors of the file system. */
export const readUtf8 = async (path: string, options?: Options): Promise<string> => textOf(await readFile(path), path, options)

export const readUtf8Sync = (path: string, options?: Options): string => textOf(readFileSync(path), path, options)

/** The text of stdin. Parts are joined before they are read: a character may lie in two of them. Throws USAGE. */
export async function readUtf8Stream(stdin: AsyncIterable<unknown>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of stdin) parts.push(Buffer.from(part as Uint8Array))
  return textOf(Buffer.concat(parts), 'stdin', { code: 'USAGE' })
}

function textOf(bytes: Uint8Array, name: string, { code = 'CONFIG_INVALID', ...options }: Options = {}): string {
  const text = utf8Text(bytes, options)
  if (text === undefined) throw problem(code, `Cannot read ${name}: ${notUtf8(bytes)}`)
  return text
}
