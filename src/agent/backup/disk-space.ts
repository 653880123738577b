import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine } from '../ports/index.ts'

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
export const reserveBytes = 256 * 1024 * 1024

export type Room = Readonly<{ what: string; bytes: number; paths: readonly string[] }>

/** Throws DISK_FULL, with what is needed and what there is, unless that much is free beside the reserve on the disk of each path. */
export async function needRoom(disk: Pick<DiskSpace, 'freeBytes'>, { what, bytes, paths }: Room): Promise<void> {
  const needed = bytes + reserveBytes
  for (const path of paths) {
    const free = await disk.freeBytes(path)
    if (free < needed) throw problem('DISK_FULL', `${what} needs ${inMb(needed)} free at ${path}, there are ${inMb(free)}`)
  }
}

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`

type VolumesOf = Readonly<{ engine: Pick<ContainerEngine, 'volumePath'>; disk: DiskSpace }>

/** What lies in volumes, and where; one that is not here, or lies on another machine, counts for nothing. */
export async function volumesInUse({ engine, disk }: VolumesOf, names: readonly string[]): Promise<{ bytes: number; folders: string[] }> {
  const paths = await Promise.all([...new Set(names)].map((name) => engine.volumePath(name)))
  const folders = paths.filter((path) => path !== undefined)
  const used = await Promise.all(folders.map((folder) => disk.usedBytes(folder)))
  return { bytes: used.reduce((sum, bytes) => sum + bytes, 0), folders }
}
