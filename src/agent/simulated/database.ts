import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BoxMigration, HotCopyFacts } from '../../core/boxes/index.ts'
import { isoNow, problem } from '../../core/kit/index.ts'
import { assertCounted } from '../backup/index.ts'
import type {
  ChatMark,
  DatabaseBackup,
  DatabaseFacts,
  ForeignContent,
  ForeignDatabase,
  LocalBox,
  MediaSample,
  RowCounts,
  StreamPositions,
  Written,
} from '../ports/index.ts'
import { beginLog, labelText, majorOfFiles, switchLog } from './data-files.ts'
import { simulatedMedia } from './media.ts'
import { databaseState } from './servers.ts'
import { readContent, type VolumeContent, writeContent } from './volumes.ts'
import { containerOf, type World } from './world.ts'

const dumpFile = 'database.dump'

const eventsStream = 'events_stream_seq'
const knownMargin = 1_000
const unknownMargin = 1_000_000

/** Approximate size of a fresh database, and of one row. */
const emptyDatabaseBytes = 24_000_000
const bytesPerRow = 2_000

type BoxInWorld = Readonly<{ world: World; box: LocalBox }>

/** Volume of a running database. Throws BOX_UNHEALTHY. */
export function databaseVolume(world: World, box: LocalBox): string {
  const volume = containerOf(world, box.project.name, 'postgres')?.volumes[0]
  if (volume === undefined || databaseState(world, box.project.name) !== 'ready')
    throw problem('BOX_UNHEALTHY', `The database of ${box.slug} does not accept connections`)
  return volume
}

export async function dumpSimulated({ world, box }: BoxInWorld, folder: string, signal?: AbortSignal): Promise<RowCounts> {
  const content = world.volumes.read(databaseVolume(world, box))
  await world.faults.linger('dumpMs', signal)
  assertSpaceFor(world, box, 'dump')
  if (world.faults.strike('dump-fails', { box: box.slug }))
    throw problem('SNAPSHOT_FAILED', `pg_dump of ${box.slug} failed with exit code 1`)
  writeContent(folder, { ...content, otherDatabases: [] }, { name: dumpFile, mode: 0o700 })
  return countsOf(content)
}

/** A foreign database is in a container of any project. */
export async function dumpForeignSimulated(
  world: World,
  { container: id }: Pick<ForeignDatabase, 'container'>,
  { slug, folder, signal }: Readonly<{ slug: string; folder: string; signal?: AbortSignal | undefined }>,
): Promise<ForeignContent> {
  const { content } = foreignDatabase(world, id, slug)
  await world.faults.linger('dumpMs', signal)
  if (world.faults.strike('dump-fails', { box: slug })) throw problem('SNAPSHOT_FAILED', `pg_dump of ${slug} failed with exit code 1`)
  writeContent(folder, { ...content, otherDatabases: [] }, { name: dumpFile, mode: 0o700 })
  return { rows: countsOf(content), mark: markOf(content) }
}

function foreignDatabase(world: World, id: string, slug: string) {
  const container = [...world.containers.values()].find((one) => one.id === id)
  const volume = container?.volumes[0]
  if (!container || volume === undefined || databaseState(world, container.project.name) !== 'ready')
    throw problem('SNAPSHOT_FAILED', `The database of the stack of ${slug} does not accept connections`)
  return { volume, name: container.project.name, content: world.volumes.read(volume) }
}

type Foreign = Readonly<{ slug: string; signal?: AbortSignal | undefined }>

export async function foreignContentSimulated(
  world: World,
  { container }: Pick<ForeignDatabase, 'container'>,
  { slug, signal }: Foreign,
): Promise<ForeignContent> {
  signal?.throwIfAborted()
  const { content } = foreignDatabase(world, container, slug)
  return { rows: countsOf(content), mark: markOf(content) }
}

export async function foreignBackupSimulated(
  world: World,
  { container }: Pick<ForeignDatabase, 'container'>,
  { slug, signal }: Readonly<{ slug: string; signal: AbortSignal }>,
): Promise<DatabaseBackup> {
  const { volume, name } = foreignDatabase(world, container, slug)
  return backupOf(world, { slug, name, volume }, signal)
}

const markOf = ({ stream, messages }: VolumeContent): ChatMark => ({ position: stream, lastEvents: [`$event-${messages}`] })

export async function markSimulated({ world, box }: BoxInWorld, signal?: AbortSignal): Promise<ChatMark> {
  signal?.throwIfAborted()
  return markOf(world.volumes.read(databaseVolume(world, box)))
}

/** Simulated media have no time, so none is counted. */
export async function writtenSimulated({ world, box }: BoxInWorld, { mark }: Readonly<{ mark: ChatMark }>): Promise<Written> {
  const { stream } = world.volumes.read(databaseVolume(world, box))
  const events = Math.max(0, stream - mark.position)
  return { events, media: 0, lastAt: events > 0 ? isoNow(world.clock) : null }
}

/** A load with wrong counts stays, so the next load finds tables. */
export async function loadSimulated(
  { world, box }: BoxInWorld,
  { folder, expected }: Readonly<{ folder: string; expected: RowCounts }>,
  signal?: AbortSignal,
): Promise<void> {
  const volume = databaseVolume(world, box)
  await world.faults.linger('loadMs', signal)
  assertSpaceFor(world, box, 'load')
  if (world.faults.strike('load-fails', { box: box.slug }))
    throw problem('RESTORE_FAILED', `pg_restore of ${box.slug} failed with exit code 1`)
  if (world.volumes.read(volume).schema !== null) throw problem('RESTORE_FAILED', `The database of ${box.slug} is not empty`)
  const content = readDump(box, folder)
  world.volumes.change(volume, content)
  assertSameCounts(box, expected, countsOf(content))
}

export async function finishLoadSimulated(
  { world, box }: BoxInWorld,
  expected: RowCounts | undefined,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted()
  const content = world.volumes.read(databaseVolume(world, box))
  if (world.faults.strike('load-fails', { box: box.slug })) throw problem('RESTORE_FAILED', `psql in ${box.slug} failed with exit code 1`)
  const counts = countsOf(content)
  assertSameCounts(box, expected ?? counts, counts)
}

export async function compareSimulated({ world, box }: BoxInWorld, expected: RowCounts, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  assertSameCounts(box, expected, countsOf(world.volumes.read(databaseVolume(world, box))))
}

function assertSpaceFor(world: World, box: LocalBox, what: 'dump' | 'load'): void {
  if (world.faults.strike('disk-full', { box: box.slug }, ({ at }) => at === what))
    throw problem('DISK_FULL', `No disk space left for the ${what} of ${box.slug}`)
}

function readDump(box: LocalBox, folder: string): VolumeContent {
  const path = join(folder, dumpFile)
  if (!existsSync(path)) throw problem('RESTORE_FAILED', `The dump of ${box.slug} is missing in ${folder}`)
  try {
    return readContent(path)
  } catch (error) {
    throw problem('RESTORE_FAILED', `pg_restore of ${box.slug} failed with exit code 1: the dump is truncated`, { cause: error })
  }
}

export const countsOf = ({ messages, media, schema }: VolumeContent): RowCounts => ({
  ...(schema === null ? {} : { schema_version: 1 }),
  events: messages,
  local_media_repository: media,
})

function assertSameCounts(box: LocalBox, expected: RowCounts, loaded: RowCounts): void {
  assertCounted(expected, { code: 'RESTORE_FAILED', what: `The dump of ${box.slug}` })
  const wrong = Object.entries(expected).filter(([table, count]) => loaded[table] !== count)
  if (wrong.length === 0) return
  const list = wrong.map(([table, count]) => `${table} has ${loaded[table] ?? 'no'} rows instead of ${count}`).join('; ')
  throw problem('RESTORE_FAILED', `The loaded database of ${box.slug} differs from the dump: ${list}`)
}

export async function positionsOf(world: World, box: LocalBox, signal?: AbortSignal): Promise<StreamPositions> {
  signal?.throwIfAborted()
  return { sequences: { [eventsStream]: world.volumes.read(databaseVolume(world, box)).stream }, writers: [] }
}

export async function raiseSimulated({ world, box }: BoxInWorld, past: StreamPositions | 'unknown', signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const volume = databaseVolume(world, box)
  const { stream } = world.volumes.read(volume)
  const raised = past === 'unknown' ? stream + unknownMargin : Math.max(stream, past.sequences[eventsStream] ?? 0) + knownMargin
  world.volumes.change(volume, { stream: raised })
}

/** Open until it is ended, its agent is gone, or the database stops. */
export async function backupSimulated({ world, box }: BoxInWorld, signal: AbortSignal): Promise<DatabaseBackup> {
  signal.throwIfAborted()
  return backupOf(world, { slug: box.slug, name: box.project.name, volume: databaseVolume(world, box) }, signal)
}

type Backed = Readonly<{ slug: string; name: string; volume: string }>

function backupOf(world: World, { slug, name, volume }: Backed, signal: AbortSignal): DatabaseBackup {
  signal.throwIfAborted()
  const folder = world.volumes.path(volume) as string
  if (world.backups.has(name)) throw problem('SNAPSHOT_FAILED', `the replication slot of ${slug} exists already`)
  world.backups.add(name)
  const end = async () => void world.backups.delete(name)
  signal.addEventListener('abort', () => void end(), { once: true })
  const begun = beginLog(folder)
  const during = async <Value>(act: () => Value): Promise<Value> => {
    if (!world.backups.has(name)) throw problem('SNAPSHOT_FAILED', `the backup session of ${slug} ended`)
    return act()
  }
  return { ...begun, finishCopy: () => during(() => labelText(begun)), switchLog: () => during(() => switchLog(folder)), end }
}

/** The defaults of PostgreSQL. */
const hotCopyFacts: HotCopyFacts = {
  ...{ major: 15, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
  ...{ checksumFailures: 0, tablespaces: 0 },
}

/** Undefined when it does not answer. */
export function factsOf(world: World, box: LocalBox): DatabaseFacts | undefined {
  if (databaseState(world, box.project.name) !== 'ready') return undefined
  const volume = databaseVolume(world, box)
  const { messages, media, otherDatabases, schema, compat, backgroundUpdates, migrations } = world.volumes.read(volume)
  const control = join(world.volumes.path(volume) ?? '', 'global', 'pg_control')
  return {
    bytes: emptyDatabaseBytes + bytesPerRow * (messages + media),
    systemId: existsSync(control) ? readFileSync(control).readBigUInt64LE(0).toString() : null,
    otherDatabases: [...otherDatabases],
    ...{ tablespaces: [], archiveMode: 'off', replicationSlots: [], alteredSettings: [] },
    schemaVersion: schema,
    compatVersion: compat,
    backgroundUpdates: [...backgroundUpdates],
    backgroundProgress: backgroundUpdates.length > 0 ? backgroundUpdates.join() : null,
    collation: 'C',
    migrations: migrations.toSorted((a, b) => (a.head < b.head ? -1 : 1)),
    ownerIsSuperuser: false,
    hotCopy: { ...hotCopyFacts, major: Number(majorOfFiles(world.volumes.path(volume) ?? '') ?? hotCopyFacts.major) },
  }
}

export async function sampleSimulated(
  { world, box }: BoxInWorld,
  { newest, random }: Readonly<{ newest: number; random: number }>,
  signal?: AbortSignal,
): Promise<MediaSample> {
  signal?.throwIfAborted()
  const { media } = world.volumes.read(databaseVolume(world, box))
  const numbers = Array.from({ length: media }, (_, index) => media - index)
  return { withoutFile: 0, sample: numbers.slice(0, newest + random).map(simulatedMedia) }
}

export async function applySimulated({ world, box }: BoxInWorld, migration: BoxMigration, signal?: AbortSignal): Promise<void> {
  const { head, name, sha256 } = migration
  const volume = databaseVolume(world, box)
  const { migrations } = world.volumes.read(volume)
  const noted = migrations.find((applied) => applied.head === head)
  if (noted?.sha256 === sha256) return
  signal?.throwIfAborted()
  const failed = (why: string) => problem('UPDATE_FAILED', `Box migration ${head}-${name} failed in ${box.slug}: ERROR:  ${why}`)
  if (noted) throw failed('duplicate key value violates unique constraint "box_migrations_pkey"')
  if (world.faults.strike('migration-fails', { box: box.slug })) throw failed('injected by the fault profile')
  world.volumes.change(volume, { migrations: [...migrations, { head, sha256 }] })
}
