import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'

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
