import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { ContainerEngine, Repository, StoredSnapshot } from '../ports/index.ts'

/** Space of the host's disks, in bytes. */
export type DiskSpace = Readonly<{
  freeBytes(path: string): Promise<number>
  usedBytes(folder: string): Promise<number>
  /** Equal for all paths that share space. */
  diskOf(path: string): Promise<string>
  /** With a ledger, space that is reserved for one command is not given to another. */
  ledger?: SpaceLedger
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

/** Btrfs and ZFS: each subvolume has a number of its own but shares space with others. */
const pooled = new Set([0x9123683e, 0x2fc12fc1])

/** All subvolumes of one kind count as one disk, so that too much is asked for and never too little. */
export const diskName = (device: number, type: number): string => (pooled.has(type >>> 0) ? `pool ${type >>> 0}` : `${device}`)

/** A running database removes files. */
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

/** Bytes that will be written below a path. */
export type DiskUse = Readonly<{ path: string; bytes: number }>

/** The reserved space that a step records, so that it is reserved again after a restart. */
export type Reserved = Readonly<{ room?: readonly DiskUse[] }>

/** A disk without enough space beside the reserve and what is reserved for others, named by its paths. */
type Shortage = Readonly<{ paths: readonly string[]; neededBytes: number; freeBytes: number; reserved: ReservedForOthers }>

type Asked = Pick<DiskSpace, 'freeBytes' | 'diskOf' | 'ledger'>
type Checked = Readonly<{ disk: string; paths: readonly string[]; bytes: number; freeBytes: number }>

/** Parts on one disk need their sum, parts on several disks each their own. */
async function checkDisks(disk: Asked, parts: readonly DiskUse[]): Promise<Checked[]> {
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

const none: ReservedForOthers = { bytes: 0, to: [] }

const shortages = ({ ledger }: Asked, { commandId }: SpaceOwner, checked: readonly Checked[]): Shortage[] =>
  checked
    .map(({ disk, paths, bytes, freeBytes }) => {
      const reserved = ledger?.reservedForOthers(commandId, disk) ?? none
      return { paths, neededBytes: bytes + reserveBytes, freeBytes: freeBytes - reserved.bytes, reserved }
    })
    .filter(({ neededBytes, freeBytes }) => freeBytes < neededBytes)

/**
 * Reserves space for the command until its end. Throws DISK_FULL with every disk that lacks space: what is needed, what is free, and what
 * is reserved for others.
 */
export async function reserveDiskSpace(disk: Asked, holder: SpaceOwner, parts: readonly DiskUse[]): Promise<void> {
  const checked = await checkDisks(disk, parts)
  // No await from here on: no other command may come between the check and the reservation.
  const found = shortages(disk, holder, checked)
  if (found.length > 0) throw problem('DISK_FULL', `${holder.what} needs ${found.map(shortageText).join('; and ')}`)
  disk.ledger?.reserve(holder, bytesOf(checked))
}

/**
 * Reserves recorded space again for a command that continues after a restart, without checking that it is free. A disk that does not
 * answer is ignored.
 */
export async function restoreReservation(disk: Asked, holder: SpaceOwner, room: readonly DiskUse[] | undefined): Promise<void> {
  if (!disk.ledger || !room) return
  const checked = await checkDisks(disk, room).catch(() => [])
  disk.ledger.reserve(holder, bytesOf(checked))
}

const bytesOf = (checked: readonly Checked[]): Map<string, number> => new Map(checked.map(({ disk, bytes }) => [disk, bytes]))

/** Free space that is not reserved for other commands. */
export async function unreservedBytes(disk: Asked, commandId: string, path: string): Promise<number> {
  const [free, name] = await Promise.all([disk.freeBytes(path), disk.diskOf(path)])
  return free - (disk.ledger?.reservedForOthers(commandId, name).bytes ?? 0)
}

const shortageText = ({ paths, neededBytes, freeBytes, reserved }: Shortage): string =>
  `${inMb(neededBytes)} free at ${paths.join(' and ')}, has ${inMb(Math.max(0, freeBytes))} ${beside(reserved)}(${inMb(neededBytes - freeBytes)} missing)`

const beside = ({ bytes, to }: ReservedForOthers): string =>
  to.length === 0 ? '' : `beside ${inMb(bytes)} reserved for ${to.join(' and for ')} `

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`

type VolumesOf = Readonly<{ engine: Pick<ContainerEngine, 'volumePath'>; disk: DiskSpace }>

/** Bytes in volumes; a volume that does not exist, or is on another machine, counts as zero. */
export async function volumeBytes({ engine, disk }: VolumesOf, names: readonly string[]): Promise<number> {
  const paths = await Promise.all([...new Set(names)].map((name) => engine.volumePath(name)))
  const used = await Promise.all(paths.map((path) => (path === undefined ? 0 : disk.usedBytes(path))))
  return used.reduce((sum, bytes) => sum + bytes, 0)
}

/** For whom space is reserved, and for what, as operators read it. */
export type SpaceOwner = Readonly<{ commandId: string; what: string }>

type Held = Readonly<{ what: string; bytes: ReadonlyMap<string, number> }>

/** Space reserved for others on a disk, and for what. */
export type ReservedForOthers = Readonly<{ bytes: number; to: readonly string[] }>

/**
 * Space reserved for running commands, by disk: two commands must not both count on the same free bytes. It is held until the end of the
 * command.
 */
export type SpaceLedger = Readonly<{
  reservedForOthers(commandId: string, disk: string): ReservedForOthers
  /** A second reservation on a disk replaces the first. */
  reserve(holder: SpaceOwner, bytes: ReadonlyMap<string, number>): void
  release(commandId: string): void
}>

export function spaceLedger(): SpaceLedger {
  const held = new Map<string, Held>()
  return {
    reservedForOthers: (commandId, disk) => {
      const others = [...held].filter(([id, { bytes }]) => id !== commandId && (bytes.get(disk) ?? 0) > 0)
      return { bytes: others.reduce((sum, [, { bytes }]) => sum + (bytes.get(disk) ?? 0), 0), to: others.map(([, { what }]) => what) }
    },
    reserve: ({ commandId, what }, bytes) =>
      void held.set(commandId, { what, bytes: new Map([...(held.get(commandId)?.bytes ?? []), ...bytes]) }),
    release: (commandId) => void held.delete(commandId),
  }
}

/** The folder of a repository on this host. */
export const localFolder = ({ repository }: Repository): string | undefined => /^(?:file:(?:\/\/)?)?(\/.*)$/.exec(repository)?.[1]

/** A dump is at most as large as its database; a repository on this host stores it a second time. */
export function spaceForDump(workFolder: string, repository: Repository, databaseBytes: number): DiskUse[] {
  return [workFolder, localFolder(repository)].flatMap((path) => (path === undefined ? [] : [{ path, bytes: databaseBytes }]))
}

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'volumesFolder'>; disk: Pick<DiskSpace, 'usedBytes'>; workFolder: string }>
type Bringing = Readonly<{
  snapshot: Pick<StoredSnapshot, 'totalBytes' | 'databaseBytes'>
  /** Where its dump and files are fetched to, and whether they are there. */
  folder: string
  fetched: boolean
  /** The present sizes of the box, for a snapshot of unknown size. */
  now: Readonly<{ databaseBytes: number; dataBytes: number }>
}>

/**
 * The space that a fetched snapshot takes: its dump in the work folder; media, objects and the loaded database on the disk of the volumes.
 * The size of the dump is known only after the fetch; before, its maximum counts.
 */
export async function spaceForSnapshot(
  { engine, disk, workFolder }: Deps,
  { snapshot, folder, fetched, now }: Bringing,
): Promise<DiskUse[]> {
  const { totalBytes } = snapshot
  const databaseBytes = snapshot.databaseBytes ?? now.databaseBytes
  // Data that an interrupted try has fetched already uses its space.
  const here = await disk.usedBytes(folder).catch(() => 0)
  const dump = fetched ? here : Math.min(totalBytes ?? databaseBytes, databaseBytes)
  const data = totalBytes === null ? now.dataBytes : Math.max(0, totalBytes - dump)
  return [
    { path: workFolder, bytes: Math.max(0, dump - here) },
    { path: (await engine.volumesFolder()) ?? workFolder, bytes: data + databaseBytes },
  ]
}
