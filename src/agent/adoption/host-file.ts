import { lstat, readFile, realpath } from 'node:fs/promises'
import { problem } from '../../core/kit/index.ts'

/** A file of the stack as it is on the host. */
export type HostFile = Readonly<{ path: string; text: string; mode: number; uid: number; gid: number }>

const mostBytes = 1_000_000

/**
 * Reads a file of a box; undefined when there is none. A service of the box may own the folder it lies in, and must not be able to show
 * us another file of the host by a link in its place: throws FOLDER_UNSAFE.
 */
export async function readHostFile(path: string): Promise<HostFile | undefined> {
  const facts = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!facts) return undefined
  if (!facts.isFile() || facts.nlink > 1 || (await realpath(path)) !== path)
    throw problem('FOLDER_UNSAFE', `${path} is no plain file of its own: put the file itself there, without links`)
  if (facts.size > mostBytes) throw problem('FOLDER_UNSAFE', `${path} has ${facts.size} bytes: that is no config file`)
  return { path, text: await readFile(path, 'utf8'), mode: facts.mode & 0o777, uid: facts.uid, gid: facts.gid }
}
