import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { notUtf8, type ProblemCode, problem, utf8Text } from '../core/kit/index.ts'

type Options = Readonly<{ code?: ProblemCode }>

/** The text of a file that a person wrote. Throws `code` naming the line that is not UTF-8, and the errors of the file system. */
export const readUtf8 = async (path: string, { code = 'CONFIG_INVALID' }: Options = {}): Promise<string> =>
  textOf(await readFile(path), path, code)

export const readUtf8Sync = (path: string, { code = 'CONFIG_INVALID' }: Options = {}): string => textOf(readFileSync(path), path, code)

/** The text of stdin. Parts are joined before they are read: a character may lie in two of them. Throws USAGE. */
export async function readUtf8Stream(stdin: AsyncIterable<unknown>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const part of stdin) parts.push(Buffer.from(part as Uint8Array))
  return textOf(Buffer.concat(parts), 'stdin', 'USAGE')
}

function textOf(bytes: Uint8Array, name: string, code: ProblemCode): string {
  const text = utf8Text(bytes)
  if (text === undefined) throw problem(code, `Cannot read ${name}: ${notUtf8(bytes)}`)
  return text
}
