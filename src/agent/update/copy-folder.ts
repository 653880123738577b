import { constants } from 'node:fs'
import { chmod, chown, copyFile, lstat, mkdir, open, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../node/index.ts'

/** So many files at once: enough that their fsyncs share what the disk does. */
const atOnce = 16

/**
 * Copies a folder with owners and modes into one that is there and empty, sharing blocks where the disk can; on disk when it resolves.
 * By this process itself and not by `cp`: a copy must end with the agent that made it, or it would write into the next one's.
 */
export async function copyFolder(from: string, into: string, signal: AbortSignal): Promise<void> {
  const files: Pair[] = []
  const folders: string[] = []
  await copyTree(from, into, { files, folders }, signal)
  const next = files.values()
  const work = async () => {
    for (const [source, target] of next) {
      signal.throwIfAborted()
      await copyOne(source, target)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  for (const folder of folders) await syncFolder(folder)
}

type Pair = readonly [source: string, target: string]
type Found = Readonly<{ files: Pair[]; folders: string[] }>

/** Folders and links now, files listed for later. */
async function copyTree(from: string, into: string, found: Found, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  await mkdir(into, { recursive: true })
  await likeSource(from, into)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(into, entry.name)]
    if (entry.isDirectory()) await copyTree(source, target, found, signal)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else if (entry.isFile()) found.files.push([source, target])
  }
  found.folders.push(into)
}

async function copyOne(source: string, target: string): Promise<void> {
  await copyFile(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
  await likeSource(source, target)
  const file = await open(target, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function likeSource(source: string, target: string): Promise<void> {
  const { uid, gid, mode } = await lstat(source)
  if (process.getuid?.() === 0) await chown(target, uid, gid)
  await chmod(target, mode & 0o7777)
}
