import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine } from '../ports/index.ts'

/** Space of the host's disks, in bytes. */
export type DiskSpace = Readonly<{
  freeBytes(path: string): Promise<number>
  usedBytes(folder: string): Promise<number>
  /** The same for all paths that take from the same space. */
  diskOf(path: string): Promise<string>
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
  diskOf: async (path) => {
    const there = await nearestExisting(path)
    const [{ dev }, { type }] = await Promise.all([stat(there), statfs(there)])
    return diskName(dev, type)
  },
}

/** Btrfs and ZFS: each of their parts has a number of its own and takes from a space that others share. */
const pooled = new Set([0x9123683e, 0x2fc12fc1])

/** Nobody can tell which parts share: all of a kind count as one, so that too much is asked for and never too little. */
export const diskName = (device: number, type: number): string => (pooled.has(type >>> 0) ? `pool ${type >>> 0}` : `${device}`)

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

/** What will be written, and below which path. */
export type Part = Readonly<{ path: string; bytes: number }>

/** A disk on which not all parts find room beside the reserve; known by their paths on it. */
export type Shortage = Readonly<{ paths: readonly string[]; neededBytes: number; freeBytes: number }>

type Asked = Pick<DiskSpace, 'freeBytes' | 'diskOf'>

/** Parts on one disk need their sum, parts on several each its own. */
export async function shortages(disk: Asked, parts: readonly Part[]): Promise<Shortage[]> {
  const paths = [...new Set(parts.map(({ path }) => path))]
  const disks = new Map(await Promise.all(paths.map(async (path) => [path, await disk.diskOf(path)] as const)))
  const all = [...new Set(disks.values())].map(async (name) => {
    const here = paths.filter((path) => disks.get(path) === name)
    const bytes = parts.filter(({ path }) => here.includes(path)).reduce((sum, part) => sum + part.bytes, 0)
    const free = await Promise.all(here.map((path) => disk.freeBytes(path)))
    return { paths: here, neededBytes: bytes + reserveBytes, freeBytes: Math.min(...free) }
  })
  return (await Promise.all(all)).filter(({ neededBytes, freeBytes }) => freeBytes < neededBytes)
}

/** Throws DISK_FULL, which names every disk that lacks room, what is needed there and what there is. */
export async function needRoom(disk: Asked, what: string, parts: readonly Part[]): Promise<void> {
  const found = await shortages(disk, parts)
  if (found.length > 0) throw problem('DISK_FULL', `${what} needs ${found.map(says).join('; and ')}`)
}

const says = ({ paths, neededBytes, freeBytes }: Shortage): string =>
  `${inMb(neededBytes)} free at ${paths.join(' and ')}, there are ${inMb(freeBytes)} (${inMb(neededBytes - freeBytes)} too little)`

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`

type VolumesOf = Readonly<{ engine: Pick<ContainerEngine, 'volumePath'>; disk: DiskSpace }>

/** What lies in volumes; one that is not here, or lies on another machine, counts for nothing. */
export async function volumeBytes({ engine, disk }: VolumesOf, names: readonly string[]): Promise<number> {
  const paths = await Promise.all([...new Set(names)].map((name) => engine.volumePath(name)))
  const used = await Promise.all(paths.map((path) => (path === undefined ? 0 : disk.usedBytes(path))))
  return used.reduce((sum, bytes) => sum + bytes, 0)
}
