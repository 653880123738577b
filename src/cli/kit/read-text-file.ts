import { problem } from '../../core/kit/index.ts'

/** The text of a file that was named on the command line; throws USAGE when it cannot be read. */
export async function readTextFile(file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${file} cannot be read (${error.code}): give the path of a file that you may read`)
  })
}
