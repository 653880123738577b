import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { syncFolder } from '../../node/index.ts'
import type { Repository, SnapshotStore, StoredSnapshot } from '../ports/index.ts'
import type { DataFolder } from './data-folders.ts'
import { assertPlainDump, dumpFiles, type FullManifest, isFullManifest, matchesManifest, readManifest } from './dump-manifest.ts'
import { runConcurrently } from './run-concurrently.ts'
import { dumpFolderOf } from './take-box-snapshot.ts'

type Deps = Readonly<{ snapshots: SnapshotStore }>
type Input = Readonly<{
  repository: Repository
  snapshotId: string
  /** The checksum that its manifest must have; null if none is known. */
  manifestSha256: string | null
  /** Used by this fetch alone; what an interrupted fetch left in it is used or removed. */
  folder: string
  /** Called before anything is fetched; may refuse. */
  admit?: (snapshot: StoredSnapshot) => Promise<void>
  signal?: AbortSignal
}>

/** A snapshot's own files on this host; media and objects are fetched by `fetchData`. */
type FetchedSnapshot = Readonly<{
  manifest: FullManifest
  manifestSha256: string
  snapshot: StoredSnapshot
  /** Complete, and verified against the manifest. */
  dumpFolder: string
  /** Compose file, config and keys, as in the box's project folder. */
  boxFolder: string
}>

/**
 * Fetches dump, manifest and the box's files. Throws RESTORE_FAILED when the snapshot is missing, does not match, or was made by an agent
 * that did not record its paths.
 */
export async function fetchSnapshot(deps: Deps, input: Input): Promise<FetchedSnapshot> {
  const { folder, admit } = input
  const snapshot = await findSnapshot(deps, input)
  await admit?.(snapshot)
  const dump = (await completeDump(deps, input)) ?? (await fetchDump(deps, input, snapshot))
  return { ...dump, snapshot, dumpFolder: dumpIn(folder), boxFolder: boxIn(folder) }
}

async function findSnapshot({ snapshots }: Deps, { repository, snapshotId }: DataInput): Promise<StoredSnapshot> {
  const snapshot = await snapshots.find(repository, snapshotId)
  if (!snapshot) throw problem('RESTORE_FAILED', `the repository ${repository.repository} has no snapshot ${snapshotId}`)
  return snapshot
}

const dumpIn = (folder: string): string => join(folder, 'dump')
const boxIn = (folder: string): string => join(folder, 'box')

type Dump = Pick<FetchedSnapshot, 'manifest' | 'manifestSha256'>

async function fetchDump(deps: Deps, input: Input, snapshot: StoredSnapshot): Promise<Dump> {
  const { snapshotId, folder, signal } = input
  const [dumpPart, boxPart] = [dumpPath(snapshot), likelyBoxPath(snapshot)]
  // Each opens the repository again, which is slow by design, so they run concurrently.
  const parts = [{ part: dumpPart, into: dumpIn(folder) }, ...(boxPart === undefined ? [] : [{ part: boxPart, into: boxIn(folder) }])]
  await runConcurrently(
    parts.map(
      ({ part, into }) =>
        (within) =>
          fetchPath(deps, { ...input, signal: within }, { part, into }),
    ),
    signal,
  )
  const dump = await completeDump(deps, input, boxPart)
  if (dump) return dump
  for (const into of [dumpIn(folder), boxIn(folder)]) await rm(into, { recursive: true, force: true })
  throw mismatch(snapshotId)
}

const mismatch = (snapshotId: string) =>
  problem('RESTORE_FAILED', `the dump in the snapshot ${snapshotId} does not match its manifest. fix: use another snapshot`)

/** The dump's folder is named after its command on every host. */
function dumpPath({ id, paths, commandId }: StoredSnapshot): string {
  const path = commandId === null ? undefined : paths.find((path) => basename(path) === basename(dumpFolderOf('/', commandId)))
  if (path === undefined) throw problem('RESTORE_FAILED', `the snapshot ${id} contains no dump of a box: it was not made by tenantry-agent`)
  return path
}

/** Docker keeps the content of a volume in this folder. */
const volumeContent = '_data'

/** Guesses the folder of the box's files before the manifest is known; undefined when several paths match. */
function likelyBoxPath(snapshot: StoredSnapshot): string | undefined {
  const dump = dumpPath(snapshot)
  const [path, ...others] = snapshot.paths.filter((path) => path !== dump && basename(path) !== volumeContent)
  return others.length === 0 ? path : undefined
}

/**
 * The fetched dump with the box's files, if it is complete and matches. The files are fetched while the dump is hashed, unless they were
 * just fetched.
 */
async function completeDump(deps: Deps, input: Input, boxFetched?: string): Promise<Dump | undefined> {
  const { folder, signal } = input
  const dump = await manifestIn(input)
  if (!dump) return undefined
  let isWhole = false
  const prove = async () => {
    isWhole = await matchesManifest(dumpIn(folder), dump.manifest).catch(() => false) // what cannot be read is fetched again
  }
  const { boxFolder } = dump.manifest.paths
  const fetchBox = (within: AbortSignal) => fetchPath(deps, { ...input, signal: within }, { part: boxFolder, into: boxIn(folder) })
  await runConcurrently(boxFolder === boxFetched ? [prove] : [prove, fetchBox], signal)
  return isWhole ? dump : undefined
}

type Located = Pick<Input, 'folder' | 'snapshotId' | 'manifestSha256'>

/** The manifest in the folder, if it matches; the files of the dump are not checked. */
async function manifestIn({ folder, snapshotId, manifestSha256 }: Located): Promise<Dump | undefined> {
  await assertPlainDump(dumpIn(folder))
  const read = await readManifest(dumpIn(folder)).catch(() => undefined)
  if (!read || (manifestSha256 !== null && read.sha256 !== manifestSha256)) return undefined
  const { manifest, sha256 } = read
  if (isFullManifest(manifest)) return { manifest, manifestSha256: sha256 }
  throw problem(
    'RESTORE_FAILED',
    `the snapshot ${snapshotId} does not record its paths. fix: use another snapshot, or restore it by hand with restic`,
  )
}

type Fetched = Readonly<{ part: string; into: string }>

async function fetchPath({ snapshots }: Deps, { repository, snapshotId, signal }: DataInput, { part, into }: Fetched): Promise<void> {
  await rm(into, { recursive: true, force: true })
  await mkdir(into, { recursive: true, mode: 0o700 })
  await snapshots.restore(repository, { id: snapshotId, path: part, into }, signal)
}

type DataInput = Pick<Input, 'repository' | 'snapshotId' | 'signal'>
type Volume = Readonly<{ data: DataFolder; into: string }>

/**
 * The manifest of an earlier fetch. Fetches the dump again if the manifest was damaged since; the box's files stay, because they may have
 * been changed by now. Throws RESTORE_FAILED.
 */
export async function manifestOfFetched(
  deps: Deps,
  { repository: ask, ...located }: Located & Readonly<{ repository(): Promise<Repository>; signal?: AbortSignal }>,
): Promise<FullManifest> {
  const known = await manifestIn(located)
  if (known) return known.manifest
  const input = { ...located, repository: await ask() }
  await fetchPath(deps, input, { part: dumpPath(await findSnapshot(deps, input)), into: dumpIn(located.folder) })
  const fetched = await manifestIn(located)
  if (!fetched) throw mismatch(located.snapshotId)
  return fetched.manifest
}

/**
 * Fetches the dump again over a damaged one. The manifest stays, so that after a kill the rest is known to be incomplete; the box's files
 * stay too. Checks nothing.
 */
export async function fetchDumpAgain(
  deps: Deps,
  input: DataInput,
  { dumpFolder, manifest }: Pick<FetchedSnapshot, 'dumpFolder' | 'manifest'>,
): Promise<void> {
  for (const name of await dumpFiles(dumpFolder)) await rm(join(dumpFolder, name), { recursive: true, force: true })
  const aside = `${dumpFolder}.again`
  await fetchPath(deps, input, { part: manifest.paths.dumpFolder, into: aside })
  await assertPlainDump(aside)
  for (const name of await dumpFiles(aside)) await rename(join(aside, name), join(dumpFolder, name))
  await syncFolder(dumpFolder)
  await rm(aside, { recursive: true, force: true })
}

/** Writes volumes' files into folders. Files that are not in the snapshot stay. */
export function fetchData({ snapshots }: Deps, { repository, snapshotId, signal }: DataInput, volumes: readonly Volume[]): Promise<void> {
  // A volume that two services mount is in the snapshot once.
  const distinct = new Map(volumes.map((volume) => [volume.into, volume]))
  // Each run of restic opens the repository again, which is slow by design, so they run concurrently.
  return runConcurrently(
    [...distinct.values()].map(
      ({ data, into }) =>
        (within) =>
          snapshots.restore(repository, { id: snapshotId, path: data.folder, into }, within),
    ),
    signal,
  )
}
