import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { InstalledVersions, SnapshotTaken, SnapshotTier } from '../../core/boxes/index.ts'
import { type Clock, isoNow, isProblem, problem } from '../../core/kit/index.ts'
import { fenceFile, readCompose, resolvedFacts } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox, Repository, RowCounts, SnapshotStore } from '../ports/index.ts'
import { type DumpManifest, manifestPath, readVerifiedDump, writeManifest } from './dump-manifest.ts'
import { runConcurrently } from './run-concurrently.ts'

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
  /** The moment of the data; default: now. */
  at?: string
  signal?: AbortSignal
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
  const { box, repository, tier, commandId, live = false, signal } = request
  const begun = deps.clock.monotonicMs()
  await deps.onStep?.('dump', 'intent')
  // Read while the dump runs: compose takes as long for its file as an empty database for its dump.
  const reading = dataFolders(deps.engine, box)
  reading.catch(() => undefined)
  const { sha256, manifest } = await dumpOnce(deps, request, reading)
  const data = await reading
  await deps.onStep?.('dump', 'done')
  await deps.onStep?.('store', 'intent')
  const stored = await deps.snapshots.take(
    repository,
    {
      ...{ tier, commandId, slug: box.slug, paths: pathsOf(deps, request, data), exclude: excluded(box, data), live },
      sample: { path: manifestPath(dumpFolderOf(deps.workFolder, commandId)), sha256 },
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

async function dumpOnce(deps: BoxSnapshotDeps, request: BoxSnapshotRequest, reading: Promise<DataFolder[]>): Promise<Dumped> {
  const folder = dumpFolderOf(deps.workFolder, request.commandId)
  const whole = await readVerifiedDump(folder).catch(() => undefined)
  if (whole) return whole
  await clearDump(deps, request.commandId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const { at = isoNow(deps.clock) } = request
    const { rows, databaseBytes, data } = await dumpAndRead(deps, request, { folder, reading })
    const facts = manifestFacts(request, {
      at,
      rows: { ...rows },
      ...(databaseBytes === undefined ? {} : { databaseBytes }),
      paths: { dumpFolder: folder, boxFolder: boxFolderOf(request), data },
    })
    return { sha256: await writeManifest(folder, facts), manifest: { format: 1, files: {}, ...facts } }
  } catch (error) {
    // A partial dump is useless and may be what fills the disk.
    await clearDump(deps, request.commandId).catch(() => undefined)
    if (!isProblem(error, 'BOX_UNHEALTHY')) throw error
    throw problem('SNAPSHOT_FAILED', `the database cannot be dumped: ${error.message}`, { cause: error })
  }
}

type Read = Readonly<{ rows: RowCounts; databaseBytes: number | undefined; data: DataFolder[] }>

/** Without the folders the dump is useless: it ends with them. */
async function dumpAndRead({ servers }: BoxSnapshotDeps, { box, database = box, signal }: BoxSnapshotRequest, into: Into): Promise<Read> {
  const read: { -readonly [Name in keyof Read]: Read[Name] } = { rows: {}, databaseBytes: undefined, data: [] }
  await runConcurrently(
    [
      async (within) => {
        read.rows = await servers.dumpDatabase(database, into.folder, within)
      },
      async () => {
        read.databaseBytes = await servers.databaseBytes(database)
      },
      async () => {
        read.data = await into.reading
      },
    ],
    signal,
  )
  return read
}

type Into = Readonly<{ folder: string; reading: Promise<DataFolder[]> }>

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

/** The folder of one media or object volume on this host. */
export type DataFolder = Readonly<{
  service: 'synapse' | 'minio'
  /** The volume's key in the compose file; null for a volume that the file does not name. */
  key: string | null
  volume: string
  folder: string
}>

/** The folders of all media and object volumes. Throws SNAPSHOT_FAILED if one is missing, because the snapshot would be incomplete. */
export async function dataFolders(engine: ContainerEngine, box: LocalBox): Promise<DataFolder[]> {
  const containers = await engine.containers(box.project)
  const keys = await volumeKeys(engine, box)
  const mounts = (['synapse', 'minio'] as const).flatMap((service) => {
    const found = containers.filter((container) => container.service === service)
    if (found.length === 0)
      throw problem('SNAPSHOT_FAILED', `${service} of ${box.slug} has no container, so the folder of its data is unknown`)
    return [...new Set(found.flatMap((container) => container.volumes))].map((volume) => ({ service, volume }))
  })
  return Promise.all(
    mounts.map(async (mount) => ({ ...mount, key: keys.get(mount.volume) ?? null, folder: await folderOf(engine, mount.volume) })),
  )
}

/** Keys by real name. A file that compose refuses must not prevent a snapshot. */
async function volumeKeys(engine: ContainerEngine, box: LocalBox): Promise<Map<string, string>> {
  const text = await readFile(box.project.composeFile, 'utf8')
  const { volumes } = await resolvedFacts({ engine }, box, text).catch((error) => {
    if (isProblem(error, 'COMPOSE_INVALID')) return readCompose(text, box.project.name)
    throw error
  })
  return new Map(Object.entries(volumes).map(([key, name]) => [name, key]))
}

async function folderOf(engine: ContainerEngine, volume: string): Promise<string> {
  const folder = await engine.volumePath(volume)
  if (folder === undefined) throw problem('SNAPSHOT_FAILED', `the volume ${volume} does not exist or is on another machine than this agent`)
  return folder
}
