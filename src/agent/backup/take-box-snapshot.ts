import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstalledVersions, SnapshotTaken, SnapshotTier } from '../../core/boxes/index.ts'
import { type Clock, isoNow, isProblem, problem } from '../../core/kit/index.ts'
import { fenceFile } from '../boxes/index.ts'
import type {
  BoxServers,
  ContainerEngine,
  LocalBox,
  OnWaiting,
  Repository,
  RowCounts,
  SnapshotFacts,
  SnapshotStore,
} from '../ports/index.ts'
import { assertCounted } from './assert-counted.ts'
import { type DataFolder, dataFolders, type VolumeKeys } from './data-folders.ts'
import { type DumpManifest, manifestPath, readVerifiedDump, writeManifest } from './dump-manifest.ts'

export type BoxSnapshotDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  clock: Clock
  /** Dumps are below it until their command is over; as private as the agent's own files. */
  workFolder: string
  /** Called around the dump and the copy to the store, to record them. */
  onStep?: (step: 'dump' | 'store', mark: 'intent' | 'done') => Promise<void>
}>

export type BoxSnapshotRequest = Readonly<{
  box: LocalBox
  repository: Repository
  tier: SnapshotTier
  commandId: string
  /** As it ran when the servers last answered. */
  images: DumpManifest['images']
  installed: InstalledVersions
  /** The box serves meanwhile. */
  live?: boolean
  /** Another server with the data of an earlier moment, and the folder with the box's files of then; default: the box's own. */
  database?: LocalBox
  boxFolder?: string
  /** Folders with media and objects of an earlier moment; default: the box's own volumes. */
  data?: readonly DataFolder[]
  /** Its files may be of another host. */
  foreign?: boolean
  /** The moment of the data; default: now. */
  at?: string
  /** Read before the box was stopped; default: read now, while users may be waiting. */
  volumeKeys?: VolumeKeys | undefined
  databaseBytes?: number | undefined
  signal?: AbortSignal
  onWaiting?: OnWaiting
}>

/** The folder of a command's dump. It is named after the command, by which the dump is found among a snapshot's paths. */
export const dumpFolderOf = (workFolder: string, commandId: string): string => join(workFolder, encodeURIComponent(commandId))

export const clearDump = ({ workFolder }: Pick<BoxSnapshotDeps, 'workFolder'>, commandId: string): Promise<void> =>
  rm(dumpFolderOf(workFolder, commandId), { recursive: true, force: true })

/**
 * Takes the complete snapshot of a box: dump, manifest, then everything to the store with media, objects, config and keys. PostgreSQL must
 * run. A complete dump of an interrupted try is used again; the copy to the store always begins again. The dump stays until `clearDump`.
 */
export async function takeBoxSnapshot(
  deps: BoxSnapshotDeps,
  request: BoxSnapshotRequest,
): Promise<{ taken: SnapshotTaken; counts: RowCounts }> {
  const begun = deps.clock.monotonicMs()
  await deps.onStep?.('dump', 'intent')
  const former = await formerDump(deps, request)
  const over = new AbortController()
  const signal = request.signal ? AbortSignal.any([request.signal, over.signal]) : over.signal
  // Read while the dump runs: compose takes as long for its file as an empty database for its dump.
  const reading = readFacts(deps, request, former)
  const dumping = dumped(deps, { ...request, signal }, { former, reading })
  // The store is opened meanwhile, which takes half a second.
  const storing = stored(deps, { ...request, signal }, { dumping, reading })
  for (const work of [dumping, storing]) work.catch((error) => over.abort(error))
  await Promise.allSettled([dumping, storing])
  // An abort is not a failure, even if something failed at the same time.
  request.signal?.throwIfAborted()
  if (over.signal.aborted) throw over.signal.reason
  const [{ sha256, manifest }, { id, addedBytes, files }] = await Promise.all([dumping, storing])
  const taken: SnapshotTaken = {
    snapshotId: id,
    tier: request.tier,
    snapshotSha256: sha256,
    takenAt: manifest.at,
    durationMs: deps.clock.monotonicMs() - begun,
    addedBytes,
    files,
    installed: manifest.installed ?? request.installed,
  }
  return { taken, counts: manifest.rows }
}

type Reading = Readonly<{ data: readonly DataFolder[]; databaseBytes: number | undefined }>

/** Reads the facts that the store needs before the dump is complete. Throws SNAPSHOT_FAILED. */
async function readFacts(
  { engine, servers }: BoxSnapshotDeps,
  { box, database = box, ...known }: BoxSnapshotRequest,
  former: Dumped | undefined,
): Promise<Reading> {
  const [data, databaseBytes] = await Promise.all([
    known.data ?? dataFolders(engine, box, known.volumeKeys),
    former ? former.manifest.databaseBytes : (known.databaseBytes ?? servers.databaseBytes(database).catch(failDump)),
  ])
  return { data, databaseBytes }
}

type Works = Readonly<{ reading: Promise<Reading> }>

async function stored(
  deps: BoxSnapshotDeps,
  request: BoxSnapshotRequest,
  { dumping, reading }: Works & Readonly<{ dumping: Promise<Dumped> }>,
): Promise<SnapshotFacts> {
  const { box, repository, tier, commandId, live = false, signal, onWaiting } = request
  const { data, databaseBytes } = await reading
  const path = manifestPath(dumpFolderOf(deps.workFolder, commandId))
  const sample = dumping.then(({ sha256 }) => ({ path, sha256 }))
  // A store that fails before does not wait for it.
  sample.catch(() => undefined)
  return deps.snapshots.take(
    repository,
    {
      ...{ tier, commandId, slug: box.slug, paths: pathsOf(deps, request, data), exclude: excluded(box, data), live },
      ...{ sample, onWaiting, foreign: request.foreign ?? false },
      ...(databaseBytes === undefined ? {} : { databaseBytes }),
    },
    signal,
  )
}

const boxFolderOf = ({ box, boxFolder = box.project.folder }: BoxSnapshotRequest): string => boxFolder

const pathsOf = ({ workFolder }: BoxSnapshotDeps, request: BoxSnapshotRequest, data: readonly DataFolder[]): string[] => [
  dumpFolderOf(workFolder, request.commandId),
  boxFolderOf(request),
  ...data.map(({ folder }) => folder),
]

/** A restored box must not come up fenced by a fence file in its snapshot. Incomplete uploads of MinIO are useless. */
const excluded = ({ project }: LocalBox, data: readonly DataFolder[]): string[] => [
  fenceFile(project),
  ...data.filter(({ service }) => service === 'minio').map(({ folder }) => join(folder, '.minio.sys', 'tmp')),
]

type Dumped = Readonly<{ sha256: string; manifest: DumpManifest }>

/** The complete dump of an interrupted try; else an empty folder for the dump. */
async function formerDump(deps: BoxSnapshotDeps, { commandId }: BoxSnapshotRequest): Promise<Dumped | undefined> {
  const folder = dumpFolderOf(deps.workFolder, commandId)
  const whole = await readVerifiedDump(folder).catch(() => undefined)
  if (whole) return whole
  await clearDump(deps, commandId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return undefined
}

async function dumped(
  deps: BoxSnapshotDeps,
  request: BoxSnapshotRequest,
  { former, reading }: Works & Readonly<{ former: Dumped | undefined }>,
): Promise<Dumped> {
  const dump = former ?? (await dumpWith(deps, request, reading))
  // Nothing stops for a store that has failed meanwhile.
  request.signal?.throwIfAborted()
  await deps.onStep?.('dump', 'done')
  await deps.onStep?.('store', 'intent')
  return dump
}

async function dumpWith(deps: BoxSnapshotDeps, request: BoxSnapshotRequest, reading: Promise<Reading>): Promise<Dumped> {
  const { box, database = box, commandId, at = isoNow(deps.clock), signal } = request
  const folder = dumpFolderOf(deps.workFolder, commandId)
  try {
    const rows = await deps.servers.dumpDatabase(database, folder, signal).catch(failDump)
    assertCounted(rows, { code: 'SNAPSHOT_FAILED', what: `the database of ${box.slug}` })
    const { data, databaseBytes } = await reading
    const facts = manifestFacts(request, {
      at,
      rows: { ...rows },
      ...(databaseBytes === undefined ? {} : { databaseBytes }),
      paths: { dumpFolder: folder, boxFolder: boxFolderOf(request), data: [...data] },
    })
    return { sha256: await writeManifest(folder, facts), manifest: { format: 1, files: {}, ...facts } }
  } catch (error) {
    // A partial dump is useless and may be what fills the disk.
    await clearDump(deps, commandId).catch(() => undefined)
    throw error
  }
}

function failDump(error: Error): never {
  if (!isProblem(error, 'BOX_UNHEALTHY')) throw error
  throw problem('SNAPSHOT_FAILED', `the database cannot be dumped: ${error.message}`, { cause: error })
}

type Found = Pick<Parameters<typeof writeManifest>[1], 'at' | 'rows' | 'paths' | 'databaseBytes'>

function manifestFacts({ box, commandId, tier, images, installed }: BoxSnapshotRequest, input: Found): Parameters<typeof writeManifest>[1] {
  const { slug, boxId, chatDomain, ports, managed, ownershipEpoch, project } = box
  const { name, composeFile, envFile } = project
  // The host's own record counts only if the head in the database is unknown.
  const migrationsHead = installed.migrationsHead === 'unknown' ? box.migrationsHead : installed.migrationsHead
  return {
    ...{ commandId, slug, boxId, tier, images, migrationsHead, installed },
    ...input,
    box: { chatDomain, ports, project: name, composeFile, ...(envFile === undefined ? {} : { envFile }), managed, ownershipEpoch },
  }
}
