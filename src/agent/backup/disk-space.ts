import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine } from '../ports/index.ts'
import type { Holder, Promised, RoomLedger } from './room-ledger.ts'

/** Space of the host's disks, in bytes. */
export type DiskSpace = Readonly<{
  freeBytes(path: string): Promise<number>
  usedBytes(folder: string): Promise<number>
  /** The same for all paths that take from the same space. */
  diskOf(path: string): Promise<string>
  /** Where one is kept, what is promised to one command is not given to another. */
  ledger?: RoomLedger
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

/** What a step leaves that was given room, so that it is held again after a restart; absent in what earlier agents wrote down. */
export type Roomed = Readonly<{ room?: readonly Part[] }>

/** A disk on which not all parts find room beside the reserve and what others were promised; known by their paths on it. */
type Shortage = Readonly<{ paths: readonly string[]; neededBytes: number; freeBytes: number; promised: Promised }>

type Asked = Pick<DiskSpace, 'freeBytes' | 'diskOf' | 'ledger'>
type Look = Readonly<{ disk: string; paths: readonly string[]; bytes: number; freeBytes: number }>

/** Parts on one disk need their sum, parts on several each its own. */
async function lookAt(disk: Asked, parts: readonly Part[]): Promise<Look[]> {
  const paths = [...new Set(parts.map(({ path }) => path))]
  const disks = new Map(await Promise.all(paths.map(async (path) => [path, await disk.diskOf(path)] as const)))
  return Promise.all(
    [...new Set(disks.values())].map(async (name) => {
      const here = paths.filter((path) => disks.get(path) === name)
      const bytes = parts.filter(({ path }) => here.includes(path)).reduce((sum, part) => sum + part.bytes, 0)
      const free = await Promise.all(here.map((path) => disk.freeBytes(path)))
      return { disk: name, paths: here, bytes, freeBytes: Math.min(...free) }
    }),
  )
}

const nobody: Promised = { bytes: 0, to: [] }

const shortages = ({ ledger }: Asked, { commandId }: Holder, looks: readonly Look[]): Shortage[] =>
  looks
    .map(({ disk, paths, bytes, freeBytes }) => {
      const promised = ledger?.promisedToOthers(commandId, disk) ?? nobody
      return { paths, neededBytes: bytes + reserveBytes, freeBytes: freeBytes - promised.bytes, promised }
    })
    .filter(({ neededBytes, freeBytes }) => freeBytes < neededBytes)

/**
 * Keeps the room for the command until its end. Throws DISK_FULL, which names every disk that lacks room, what is needed there, what there is
 * and who was promised the rest.
 */
export async function needRoom(disk: Asked, holder: Holder, parts: readonly Part[]): Promise<void> {
  const looks = await lookAt(disk, parts)
  // From here on nothing is waited for: nobody comes between the look and the hold.
  const found = shortages(disk, holder, looks)
  if (found.length > 0) throw problem('DISK_FULL', `${holder.what} needs ${found.map(says).join('; and ')}`)
  disk.ledger?.hold(holder, bytesOf(looks))
}

/**
 * For a command that goes on after a crash, with the room that it wrote down as given: it is not asked again whether there is any. A disk that
 * does not answer must keep nobody from going on.
 */
export async function keepRoom(disk: Asked, holder: Holder, room: readonly Part[] | undefined): Promise<void> {
  if (!disk.ledger || !room) return
  const looks = await lookAt(disk, room).catch(() => [])
  disk.ledger.hold(holder, bytesOf(looks))
}

const bytesOf = (looks: readonly Look[]): Map<string, number> => new Map(looks.map(({ disk, bytes }) => [disk, bytes]))

/** What is free for a command that can do without it: what others were promised is not. */
export async function freeBeside(disk: Asked, commandId: string, path: string): Promise<number> {
  const [free, name] = await Promise.all([disk.freeBytes(path), disk.diskOf(path)])
  return free - (disk.ledger?.promisedToOthers(commandId, name).bytes ?? 0)
}

const says = ({ paths, neededBytes, freeBytes, promised }: Shortage): string =>
  `${inMb(neededBytes)} free at ${paths.join(' and ')}, there are ${inMb(Math.max(0, freeBytes))} ${beside(promised)}(${inMb(neededBytes - freeBytes)} too little)`

const beside = ({ bytes, to }: Promised): string =>
  to.length === 0 ? '' : `beside ${inMb(bytes)} kept until the end of ${to.join(' and of ')} `

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`

type VolumesOf = Readonly<{ engine: Pick<ContainerEngine, 'volumePath'>; disk: DiskSpace }>

/** What lies in volumes; one that is not here, or lies on another machine, counts for nothing. */
export async function volumeBytes({ engine, disk }: VolumesOf, names: readonly string[]): Promise<number> {
  const paths = await Promise.all([...new Set(names)].map((name) => engine.volumePath(name)))
  const used = await Promise.all(paths.map((path) => (path === undefined ? 0 : disk.usedBytes(path))))
  return used.reduce((sum, bytes) => sum + bytes, 0)
}
