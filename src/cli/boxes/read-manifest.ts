import { problem } from '../../core/kit/index.ts'
import { type Context, readTextFile } from '../kit/index.ts'

/** A manifest file (`-` is stdin) as plain values; whether it is a good manifest is for the daemon to say. */
export async function readManifest({ readStdin }: Pick<Context, 'readStdin'>, file: string): Promise<unknown> {
  const [{ parseDocument }, text] = await Promise.all([import('yaml'), file === '-' ? readStdin() : readTextFile(file)])
  const document = parseDocument(text)
  const [wrong] = document.errors
  if (wrong) throw problem('MANIFEST_INVALID', `${file} is not YAML: ${wrong.message.split('\n')[0]?.replace(/:$/, '')}`)
  return document.toJS()
}
