import { constants } from 'node:fs'
import { access, copyFile, lstat, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import type { Docker } from './connect.ts'

// The engine passes output on at a third of the speed of a disk, and takes a core meanwhile; a box may be fenced for as long. So a program writes
// large output into a volume of its container, and the file is moved from there.

export type VolumeOutput = Readonly<{
  /** The command that writes its output there. */
  writing: (argv: readonly string[]) => readonly string[]
  /** Moves the file to its place. False if the program could not create it. */
  collect: () => Promise<boolean>
  /** Removes what is left in the volume. */
  drop: () => Promise<void>
}>

const prefix = '.tenantry-output-'
const inUse = new Set<string>()

/** Undefined where no volume of the container is on the file system of `file`: the space for it was checked there, and a move costs little. */
export async function volumeOutput(docker: Docker, containerId: string, file: string): Promise<VolumeOutput | undefined> {
  // The program's own start reports an engine that does not answer.
  const { Mounts = [] } = await docker
    .getContainer(containerId)
    .inspect()
    .catch(() => ({ Mounts: [] }))
  for (const { Type, RW, Source, Destination } of Mounts) {
    if (Type !== 'volume' || !RW || !(await isBeside(Source, file))) continue
    await dropLeftovers(Source)
    return outputIn({ folder: Source, inside: Destination }, file)
  }
  return undefined
}

async function isBeside(folder: string, file: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK)
    const [volume, target] = await Promise.all([stat(folder), stat(dirname(file))])
    return volume.isDirectory() && volume.dev === target.dev
  } catch {
    return false
  }
}

/** Files of an agent that was killed. */
async function dropLeftovers(folder: string): Promise<void> {
  const left = (await readdir(folder)).map((name) => ({ name, path: join(folder, name) }))
  for (const { name, path } of left) if (name.startsWith(prefix) && !inUse.has(path)) await removeEntry(path)
}

/** The container may replace what is there at any moment: nothing below a name is entered. A folder that it filled stays. */
async function removeEntry(path: string): Promise<void> {
  await unlink(path).catch(() => rmdir(path).catch(() => undefined))
}

function outputIn({ folder, inside }: Readonly<{ folder: string; inside: string }>, file: string): VolumeOutput {
  const name = `${prefix}${sha256Hex(file).slice(0, 16)}`
  const path = join(folder, name)
  inUse.add(path)
  return {
    writing: (argv) => ['sh', '-c', 'umask 077; exec "$@" > "$0"', join(inside, name), ...argv],
    collect: () => moveOut(path, file),
    drop: async () => {
      await removeEntry(path)
      inUse.delete(path)
    },
  }
}

/** The container chose what the name stands for: nothing but a file is taken, and no link is followed. */
async function moveOut(path: string, file: string): Promise<boolean> {
  const opened = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw notRegular(file)
    },
  )
  if (!opened) return false
  try {
    if (!(await opened.stat()).isFile()) throw notRegular(file)
    await opened.chown(process.getuid?.() ?? 0, process.getgid?.() ?? 0)
    await opened.chmod(0o600)
    await rename(path, file).catch(async (error: NodeJS.ErrnoException) => {
      // One file system that is mounted twice.
      if (error.code !== 'EXDEV') throw error
      await copyFile(`/proc/self/fd/${opened.fd}`, file, constants.COPYFILE_FICLONE)
    })
    if ((await lstat(file)).isFile()) return true
    // Replaced after it was opened. It is moved back into the volume: a process of the container may be in it, so nothing removes it here.
    await rename(file, path).catch(() => removeEntry(file))
    throw notRegular(file)
  } finally {
    await opened.close()
  }
}

const notRegular = (file: string) => problem('BOX_UNHEALTHY', `A container wrote no regular file for ${file}`)
