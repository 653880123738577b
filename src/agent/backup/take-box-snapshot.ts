import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstalledVersions, SnapshotTaken, SnapshotTier } from '../../core/boxes/index.ts'
import { type Clock, isoNow, isProblem, problem } from '../../core/kit/index.ts'
import { fenceSwitch } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox, Repository, RowCounts, SnapshotStore } from '../ports/index.ts'
import { type DataFolder, dataFolders } from './data-folders.ts'
import { type DumpManifest, readWholeDump, writeManifest } from './dump-manifest.ts'

export type BoxSnapshotDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  clock: Clock
  /** Dumps lie below it until their command is over; as private as the agent's own files. */
  workFolder: string
  /** Told before the dump and before the copy to the store; it may write that down. */
  onStep?: (step: 'dump' | 'store', mark: 'intent' | 'done') => Promise<void>
}>

export type BoxSnapshotRequest = Readonly<{
  box: LocalBox
  repository: Repository
  tier: SnapshotTier
  commandId: string
  /** What ran when its servers could still be asked. */
  images: DumpManifest['images']
  installed: InstalledVersions
  /** The box goes on serving meanwhile. */
  live?: boolean
  signal?: AbortSignal
}>

/** Where the dump of a command lies. Its name tells the command, and by it a snapshot's dump is found among its paths. */
export const dumpFolderOf = (workFolder: string, commandId: string): string => join(workFolder, encodeURIComponent(commandId))

export const clearDump = ({ workFolder }: Pick<BoxSnapshotDeps, 'workFolder'>, commandId: string): Promise<void> =>
  rm(dumpFolderOf(workFolder, commandId), { recursive: true, force: true })

/**
 * The complete snapshot of a box: dump, manifest, then all of it with media, objects, config and keys to the store. PostgreSQL must run.
 * A dump that an interrupted try left whole is used again; the copy to the store is made anew, because only its own end says that it is
 * complete. The dump stays: whoever needs it no more calls `clearDump`.
 */
export async function takeBoxSnapshot(
  deps: BoxSnapshotDeps,
  request: BoxSnapshotRequest,
): Promise<{ taken: SnapshotTaken; counts: RowCounts }> {
  const { box, repository, tier, commandId, live = false, signal } = request
  const begun = deps.clock.monotonicMs()
  const data = await dataFolders(deps.engine, box)
  await deps.onStep?.('dump', 'intent')
  const { sha256, manifest } = await dumpOnce(deps, request, data)
  await deps.onStep?.('dump', 'done')
  await deps.onStep?.('store', 'intent')
  const stored = await deps.snapshots.take(
    repository,
    {
      ...{ tier, commandId, slug: box.slug, paths: pathsOf(deps, request, data), exclude: excluded(box, data), live },
      ...(manifest.databaseBytes === undefined ? {} : { databaseBytes: manifest.databaseBytes }),
    },
    signal,
  )
  const taken: SnapshotTaken = {
    snapshotId: stored.id,
    tier,
    snapshotSha256: sha256,
    takenAt: manifest.at,
    durationMs: deps.clock.monotonicMs() - begun,
    addedBytes: stored.addedBytes,
    files: stored.files,
    installed: manifest.installed ?? request.installed,
  }
  return { taken, counts: manifest.rows }
}

const pathsOf = ({ workFolder }: BoxSnapshotDeps, { box, commandId }: BoxSnapshotRequest, data: readonly DataFolder[]): string[] => [
  dumpFolderOf(workFolder, commandId),
  box.project.folder,
  ...data.map(({ folder }) => folder),
]

/** A restored box must not come up fenced by a switch that was in its snapshot, and MinIO's half-written uploads are nobody's. */
const excluded = ({ project }: LocalBox, data: readonly DataFolder[]): string[] => [
  fenceSwitch(project),
  ...data.filter(({ service }) => service === 'minio').map(({ folder }) => join(folder, '.minio.sys', 'tmp')),
]

type Dumped = Readonly<{ sha256: string; manifest: DumpManifest }>

async function dumpOnce(deps: BoxSnapshotDeps, request: BoxSnapshotRequest, data: readonly DataFolder[]): Promise<Dumped> {
  const folder = dumpFolderOf(deps.workFolder, request.commandId)
  const whole = await readWholeDump(folder).catch(() => undefined)
  if (whole) return whole
  await clearDump(deps, request.commandId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const at = isoNow(deps.clock)
    const [rows, databaseBytes] = await Promise.all([
      deps.servers.dumpDatabase(request.box, folder, request.signal),
      deps.servers.databaseBytes(request.box),
    ])
    const facts = manifestFacts(request, {
      at,
      rows: { ...rows },
      ...(databaseBytes === undefined ? {} : { databaseBytes }),
      paths: { dumpFolder: folder, boxFolder: request.box.project.folder, data: [...data] },
    })
    return { sha256: await writeManifest(folder, facts), manifest: { format: 1, files: {}, ...facts } }
  } catch (error) {
    // A part of a dump helps nobody, and may be what fills the disk.
    await clearDump(deps, request.commandId).catch(() => undefined)
    if (!isProblem(error, 'BOX_UNHEALTHY')) throw error
    throw problem('SNAPSHOT_FAILED', `the database cannot be dumped: ${error.message}`, { cause: error })
  }
}

type Found = Pick<Parameters<typeof writeManifest>[1], 'at' | 'rows' | 'paths' | 'databaseBytes'>

function manifestFacts({ box, commandId, tier, images, installed }: BoxSnapshotRequest, found: Found): Parameters<typeof writeManifest>[1] {
  const { slug, boxId, chatDomain, ports, managed, ownershipEpoch, project } = box
  const { name, composeFile, envFile } = project
  // What the database said; the host's own record only where it said nothing.
  const migrationsHead = installed.migrationsHead === 'unknown' ? box.migrationsHead : installed.migrationsHead
  return {
    ...{ commandId, slug, boxId, tier, images, migrationsHead, installed },
    ...found,
    box: { chatDomain, ports, project: name, composeFile, ...(envFile === undefined ? {} : { envFile }), managed, ownershipEpoch },
  }
}
