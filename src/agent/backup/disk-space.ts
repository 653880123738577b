import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'

/** Space of the host's disks, in bytes. */
export type DiskSpace = Readonly<{
  freeBytes(path: string): Promise<number>
  usedBytes(folder: string): Promise<number>
}>

export const hostDisk: DiskSpace = {
  freeBytes: async (path) => {
    const { bavail, bsize } = await statfs(await nearestExisting(path))
    return bavail * bsize
  },
  usedBytes: async (folder) => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    const sizes = await Promise.all(files.map(sizeOf))
    return sizes.reduce((sum, size) => sum + size, 0)
  },
}

// A database removes files while it runs.
const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  )

const nearestExisting = (path: string): Promise<string> =>
  stat(path).then(
    () => path,
    () => nearestExisting(dirname(path)),
  )

/** Left free on every disk, for the journal and the box itself. */
const reserveBytes = 256 * 1024 * 1024

/** Throws DISK_FULL unless that much is free beside the reserve. */
export async function needFree(
  disk: DiskSpace,
  { path, bytes, what }: Readonly<{ path: string; bytes: number; what: string }>,
): Promise<void> {
  const free = await disk.freeBytes(path)
  const needed = bytes + reserveBytes
  if (free < needed) throw problem('DISK_FULL', `${what} needs ${inMb(needed)} free at ${path}, there are ${inMb(free)}`)
}

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`
