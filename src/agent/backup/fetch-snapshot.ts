import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { syncFolder } from '../../node/index.ts'
import type { Repository, SnapshotStore, StoredSnapshot } from '../ports/index.ts'
import type { DataFolder } from './data-folders.ts'
import { besideManifest, holdsAll, isTelling, readManifest, type TellingManifest } from './dump-manifest.ts'
import { sideBySide } from './side-by-side.ts'
import { dumpFolderOf } from './take-box-snapshot.ts'

type Deps = Readonly<{ snapshots: SnapshotStore }>
type Wanted = Readonly<{
  repository: Repository
  snapshotId: string
  /** The sum that its manifest must have; null where none was kept. */
  manifestSha256: string | null
  /** Of this fetch alone; what an interrupted one left in it is used or removed. */
  folder: string
  /** Told what is to be brought before any of it is, and may refuse. */
  admit?: (snapshot: StoredSnapshot) => Promise<void>
  signal?: AbortSignal
}>

/** A snapshot's own files on this host; media and objects are brought by `fetchData`. */
export type FetchedSnapshot = Readonly<{
  manifest: TellingManifest
  manifestSha256: string
  snapshot: StoredSnapshot
  /** Whole, and what the manifest says. */
  dumpFolder: string
  /** Compose file, config and keys, as in the box's project folder. */
  boxFolder: string
}>

/**
 * Brings dump, manifest and the box's files from the store. Throws RESTORE_FAILED when the snapshot is not there, is not the one that was
 * taken, or was made by an agent that did not write down where its parts lie.
 */
export async function fetchSnapshot(deps: Deps, wanted: Wanted): Promise<FetchedSnapshot> {
  const { folder, admit } = wanted
  const snapshot = await foundIn(deps, wanted)
  await admit?.(snapshot)
  const dump = (await wholeDump(deps, wanted)) ?? (await bringDump(deps, wanted, snapshot))
  return { ...dump, snapshot, dumpFolder: dumpIn(folder), boxFolder: boxIn(folder) }
}

async function foundIn({ snapshots }: Deps, { repository, snapshotId }: WantedData): Promise<StoredSnapshot> {
  const snapshot = await snapshots.find(repository, snapshotId)
  if (!snapshot) throw problem('RESTORE_FAILED', `the repository ${repository.repository} has no snapshot ${snapshotId}`)
  return snapshot
}

const dumpIn = (folder: string): string => join(folder, 'dump')
const boxIn = (folder: string): string => join(folder, 'box')

type Dump = Pick<FetchedSnapshot, 'manifest' | 'manifestSha256'>

async function bringDump(deps: Deps, wanted: Wanted, snapshot: StoredSnapshot): Promise<Dump> {
  const { snapshotId, folder, signal } = wanted
  const [dumpPart, boxPart] = [dumpPath(snapshot), likelyBoxPath(snapshot)]
  // Each opens the store anew, which is slow on purpose: so they wait beside each other.
  const parts = [{ part: dumpPart, into: dumpIn(folder) }, ...(boxPart === undefined ? [] : [{ part: boxPart, into: boxIn(folder) }])]
  await sideBySide(
    parts.map(
      ({ part, into }) =>
        (within) =>
          bring(deps, { ...wanted, signal: within }, part, into),
    ),
    signal,
  )
  const dump = await wholeDump(deps, wanted, boxPart)
  if (dump) return dump
  for (const into of [dumpIn(folder), boxIn(folder)]) await rm(into, { recursive: true, force: true })
  throw notTheOne(snapshotId)
}

const notTheOne = (snapshotId: string) =>
  problem('RESTORE_FAILED', `the dump in the snapshot ${snapshotId} is not the one that was taken: use another snapshot`)

/** The dump's folder bears its command's name, on whatever host it was. */
function dumpPath({ id, paths, commandId }: StoredSnapshot): string {
  const path = commandId === null ? undefined : paths.find((path) => basename(path) === basename(dumpFolderOf('/', commandId)))
  if (path === undefined) throw problem('RESTORE_FAILED', `the snapshot ${id} has no dump of a box: it was not made by a tenantry-agent`)
  return path
}

/** Where Docker keeps what is in a volume of its own. */
const volumeContent = '_data'

/** Where the box's files lay, as far as one can tell before the manifest says so; undefined where more than one could be it. */
function likelyBoxPath(snapshot: StoredSnapshot): string | undefined {
  const dump = dumpPath(snapshot)
  const [path, ...others] = snapshot.paths.filter((path) => path !== dump && basename(path) !== volumeContent)
  return others.length === 0 ? path : undefined
}

/**
 * The dump that lies there with the box's files, if it is whole and the one that was taken. The files are brought while the dump is read for its
 * sums, unless they were just brought: into a folder of this fetch alone, where nobody looks before the proof.
 */
async function wholeDump(deps: Deps, wanted: Wanted, boxBrought?: string): Promise<Dump | undefined> {
  const { folder, signal } = wanted
  const dump = await toldIn(wanted)
  if (!dump) return undefined
  let isWhole = false
  const prove = async () => {
    isWhole = await holdsAll(dumpIn(folder), dump.manifest).catch(() => false) // what the disk cannot read is brought again
  }
  const { boxFolder } = dump.manifest.paths
  const bringBox = (within: AbortSignal) => bring(deps, { ...wanted, signal: within }, boxFolder, boxIn(folder))
  await sideBySide(boxFolder === boxBrought ? [prove] : [prove, bringBox], signal)
  return isWhole ? dump : undefined
}

type Told = Pick<Wanted, 'folder' | 'snapshotId' | 'manifestSha256'>

/** What its manifest says, if that is the one that was written; of the dump itself nothing is proved by it. */
async function toldIn({ folder, snapshotId, manifestSha256 }: Told): Promise<Dump | undefined> {
  const read = await readManifest(dumpIn(folder)).catch(() => undefined)
  if (!read || (manifestSha256 !== null && read.sha256 !== manifestSha256)) return undefined
  const { manifest, sha256 } = read
  if (isTelling(manifest)) return { manifest, manifestSha256: sha256 }
  throw problem(
    'RESTORE_FAILED',
    `the snapshot ${snapshotId} was made by an older agent that did not write down where its parts lie: use another, or restore it by hand with restic`,
  )
}

async function bring({ snapshots }: Deps, { repository, snapshotId, signal }: WantedData, part: string, into: string): Promise<void> {
  await rm(into, { recursive: true, force: true })
  await mkdir(into, { recursive: true, mode: 0o700 })
  await snapshots.restore(repository, snapshotId, part, into, signal)
}

type WantedData = Pick<Wanted, 'repository' | 'snapshotId' | 'signal'>
type Volume = Readonly<{ data: DataFolder; into: string }>

/**
 * What the manifest of a fetch that is over says. One that was damaged since, or that the disk cannot read any more, is brought once more with
 * its dump; the box's files may have been changed by now and stay. Of the dump itself nothing is proved. Throws RESTORE_FAILED.
 */
export async function manifestOfFetched(
  deps: Deps,
  { repository: ask, ...told }: Told & Readonly<{ repository(): Promise<Repository>; signal?: AbortSignal }>,
): Promise<TellingManifest> {
  const known = await toldIn(told)
  if (known) return known.manifest
  const wanted = { ...told, repository: await ask() }
  await bring(deps, wanted, dumpPath(await foundIn(deps, wanted)), dumpIn(told.folder))
  const brought = await toldIn(told)
  if (!brought) throw notTheOne(told.snapshotId)
  return brought.manifest
}

/**
 * Brings the dump alone once more, over one that was damaged since; the box's files may have been changed by now and stay. Its manifest stays
 * too: after a kill in between it says that the rest is not whole. Proves nothing.
 */
export async function fetchDumpAgain(
  deps: Deps,
  wanted: WantedData,
  { dumpFolder, manifest }: Pick<FetchedSnapshot, 'dumpFolder' | 'manifest'>,
): Promise<void> {
  for (const name of await besideManifest(dumpFolder)) await rm(join(dumpFolder, name), { recursive: true, force: true })
  const aside = `${dumpFolder}.again`
  await bring(deps, wanted, manifest.paths.dumpFolder, aside)
  for (const name of await besideManifest(aside)) await rename(join(aside, name), join(dumpFolder, name))
  await syncFolder(dumpFolder)
  await rm(aside, { recursive: true, force: true })
}

/** Writes volumes' files into folders, which may be other volumes'. What is there and not in the snapshot stays. */
export function fetchData({ snapshots }: Deps, { repository, snapshotId, signal }: WantedData, volumes: readonly Volume[]): Promise<void> {
  // One that two services mount is in the snapshot once.
  const distinct = new Map(volumes.map((volume) => [volume.into, volume]))
  // Each run of the store's program opens the repository anew, which is slow on purpose: so they wait beside each other.
  return sideBySide(
    [...distinct.values()].map(
      ({ data, into }) =>
        (within) =>
          snapshots.restore(repository, snapshotId, data.folder, into, within),
    ),
    signal,
  )
}
