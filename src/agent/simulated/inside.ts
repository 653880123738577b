import { join } from 'node:path'
import type { BoxMigration } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { BoxInside, DatabaseFacts, LocalBox, RowCounts } from '../ports/index.ts'
import { probeSimulated } from './probe.ts'
import { chatState, databaseState, objectsState } from './servers.ts'
import { readContent, type VolumeContent, writeContent } from './volumes.ts'
import { containerOf, type World } from './world.ts'

const dumpFile = 'database.dump'

const eventsStream = 'events_stream_seq'
const streamMargin = 1_000

/** About what a fresh Synapse takes, and what a message adds to it. */
const emptyDatabaseBytes = 24_000_000
const bytesPerRow = 2_000

/** The inside of simulated boxes: probes that write, dumps and loads of the simulated database. */
export function simulatedInside(world: World): BoxInside {
  const { faults, volumes } = world
  return {
    probe: (box, signal) => probeSimulated(world, box, signal),
    serverVersions: async ({ project }) => ({
      ...(chatState(world, project.name) === 'ready' ? { synapse: versionOf(world, project.name, 'synapse') } : {}),
      ...(databaseState(world, project.name) === 'ready' ? { postgres: versionOf(world, project.name, 'postgres') } : {}),
      ...(objectsState(world, project.name) === 'ready' ? { minio: versionOf(world, project.name, 'minio') } : {}),
    }),
    dumpDatabase: async (box, folder, signal) => {
      const content = volumes.read(databaseVolume(world, box))
      await faults.linger('dumpMs', signal)
      if (faults.strike('disk-full', { box: box.slug }, ({ at }) => at === 'dump'))
        throw problem('DISK_FULL', `no space left for the dump of ${box.slug}`)
      if (faults.strike('dump-fails', { box: box.slug })) throw problem('SNAPSHOT_FAILED', `pg_dump of ${box.slug} ended with exit code 1`)
      writeContent(folder, { ...content, otherDatabases: [] }, dumpFile)
      return countsOf(content)
    },
    loadDatabase: async (box, folder, expected, signal) => {
      const volume = databaseVolume(world, box)
      await faults.linger('loadMs', signal)
      if (faults.strike('disk-full', { box: box.slug }, ({ at }) => at === 'load'))
        throw problem('DISK_FULL', `no space left to load ${box.slug}`)
      if (faults.strike('load-fails', { box: box.slug }))
        throw problem('RESTORE_FAILED', `pg_restore of ${box.slug} ended with exit code 1`)
      if (volumes.read(volume).schema !== null) throw problem('RESTORE_FAILED', `the database of ${box.slug} is not empty`)
      const content = readContent(join(folder, dumpFile))
      compare(box, expected, countsOf(content))
      volumes.change(volume, content)
    },
    settleDatabase: async (box, expected) => {
      if (faults.strike('load-fails', { box: box.slug })) throw problem('RESTORE_FAILED', `psql in ${box.slug} ended with exit code 1`)
      compare(box, expected, countsOf(volumes.read(databaseVolume(world, box))))
    },
    streamPositions: async (box) => ({ sequences: { [eventsStream]: volumes.read(databaseVolume(world, box)).stream }, writers: [] }),
    raiseStreams: async (box, past) => {
      const volume = databaseVolume(world, box)
      const known = past === 'unknown' ? 1_000 * streamMargin : (past.sequences[eventsStream] ?? 0)
      volumes.change(volume, { stream: Math.max(volumes.read(volume).stream, known) + streamMargin })
    },
    createProbeAccount: async (box) => {
      if (chatState(world, box.project.name) !== 'ready') throw problem('PROBE_FAILED', `the chat server of ${box.slug} does not answer`)
      return { userId: `@tenantry-probe:${box.chatDomain}`, accessToken: `simulated-${box.slug}`, roomId: `!probe:${box.chatDomain}` }
    },
    createThrowAwayAccount: async (box) => {
      if (chatState(world, box.project.name) !== 'ready') throw problem('PROBE_FAILED', `the chat server of ${box.slug} does not answer`)
      return { userId: `@drill:${box.chatDomain}`, accessToken: 'throw-away', roomId: `!drill:${box.chatDomain}` }
    },
    databaseBytes: async ({ project }) => {
      const volume = containerOf(world, project.name, 'postgres')?.volumes[0]
      if (volume === undefined || databaseState(world, project.name) !== 'ready') return undefined
      return bytesOf(volumes.read(volume))
    },
    databaseFacts: async (box) =>
      databaseState(world, box.project.name) === 'ready' ? factsOf(volumes.read(databaseVolume(world, box))) : undefined,
    applyMigration: async (box, migration) => applySimulated(world, box, migration),
    databaseReady: async ({ project }) => databaseState(world, project.name) === 'ready',
  }
}

const versionOf = (world: World, project: string, service: 'synapse' | 'postgres' | 'minio'): string =>
  world.image(containerOf(world, project, service)?.image ?? ':unknown').version

function databaseVolume(world: World, box: LocalBox): string {
  const volume = containerOf(world, box.project.name, 'postgres')?.volumes[0]
  if (volume === undefined || databaseState(world, box.project.name) !== 'ready')
    throw problem('BOX_UNHEALTHY', `the database of ${box.slug} does not take connections`)
  return volume
}

const bytesOf = ({ messages, media }: VolumeContent): number => emptyDatabaseBytes + bytesPerRow * (messages + media)

const factsOf = (content: VolumeContent): DatabaseFacts => ({
  bytes: bytesOf(content),
  otherDatabases: [...content.otherDatabases],
  schemaVersion: content.schema,
  compatVersion: content.compat,
  backgroundUpdates: [...content.backgroundUpdates],
  collation: 'C',
  migrations: content.migrations,
  ownerIsSuperuser: false,
})

function applySimulated(world: World, box: LocalBox, { head, name, sha256 }: BoxMigration): void {
  const volume = databaseVolume(world, box)
  const { migrations } = world.volumes.read(volume)
  if (migrations.some((applied) => applied.head === head && applied.sha256 === sha256)) return
  if (world.faults.strike('migration-fails', { box: box.slug }))
    throw problem('UPDATE_FAILED', `the box migration ${head}-${name} failed in ${box.slug}: ERROR:  as the fault profile says`)
  world.volumes.change(volume, { migrations: [...migrations, { head, sha256 }] })
}

const countsOf = ({ messages, media }: VolumeContent): RowCounts => ({ events: messages, local_media_repository: media })

function compare(box: LocalBox, expected: RowCounts, loaded: RowCounts): void {
  const wrong = Object.entries(expected).filter(([table, count]) => loaded[table] !== count)
  if (wrong.length === 0) return
  const list = wrong.map(([table, count]) => `${table} has ${loaded[table] ?? 'no'} rows instead of ${count}`).join('; ')
  throw problem('RESTORE_FAILED', `the loaded database of ${box.slug} is not the dumped one: ${list}`)
}
