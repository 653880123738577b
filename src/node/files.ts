import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** `temporary`: path of the temporary file, in the same folder; random by default. */
type WriteOptions = Readonly<{ mode?: number; temporary?: string }>

/**
 * Replaces a file atomically and durably: writes a temporary file, fsyncs, renames, fsyncs the folder. Streams content that comes in parts.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array | AsyncIterable<string | Uint8Array>,
  { mode = 0o600, temporary = join(dirname(path), `.${process.pid}.${randomUUID()}.tmp`) }: WriteOptions = {},
): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  try {
    const file = await open(temporary, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, mode)
    try {
      await writeFile(file, content)
      await file.chmod(mode)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Makes the content of a file survive a power failure. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY)
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes a rename or unlink in the folder survive a power failure. */
export const syncFolder = (path: string): Promise<void> => syncFile(path)

/** The text of a file, or undefined when it does not exist. Other failures are thrown. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined
    throw error
  }
}
