import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { plural, problem } from '../../core/kit/index.ts'
import type { BoxServers, ContainerEngine, DatabaseFacts, LocalBox } from '../ports/index.ts'
import { readBeginning } from './plain-files.ts'

// A rollback puts a copy or a load in the place of one volume. So all files of the database must be in that volume: files elsewhere would be
// those of the new version under a former catalog.

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'volumePath'>; servers: Pick<BoxServers, 'databaseFacts'> }>

/** Throws NOT_RESTORABLE if files of the running database are outside its volume. A database that does not answer passes. */
export async function assertOwnDatabaseFiles(deps: Deps, box: LocalBox, volume: string): Promise<void> {
  const facts = await deps.servers.databaseFacts(box)
  const [reason] = facts ? await databaseFilesFindings(deps, facts, volume) : []
  if (reason !== undefined) throw problem('NOT_RESTORABLE', `${box.slug} could not be restored after an update: ${reason}`)
}

/** Why a copy or a load of this volume would not be the whole database. */
async function databaseFilesFindings(
  { engine }: Pick<Deps, 'engine'>,
  { tablespaces, systemId }: Pick<DatabaseFacts, 'tablespaces' | 'systemId'>,
  volume: string,
): Promise<string[]> {
  if (tablespaces.length > 0) return [tablespacesFinding(tablespaces)]
  const root = await engine.volumePath(volume)
  const found = root === undefined ? undefined : await dataFolders(root)
  if (found === undefined) return []
  if (systemId !== null && !found.some((folder) => folder.systemId === systemId))
    return [
      `the data of PostgreSQL are not in the volume ${volume}, but in another volume or folder of its container (images up to PostgreSQL 17 store them in an anonymous volume at /var/lib/postgresql/data). fix: dump the database, mount the volume at the data folder (PGDATA), and load the dump`,
    ]
  const linked = found.find(({ hasLinkedLog, systemId: id }) => (systemId === null || id === systemId) && hasLinkedLog)
  return linked
    ? [
        `pg_wal in the volume ${volume} is a link, so the write-ahead log of PostgreSQL is elsewhere. fix: stop PostgreSQL, move the log to pg_wal in the data folder, and start it`,
      ]
    : []
}

const tablespacesFinding = (names: readonly string[]): string =>
  `PostgreSQL has ${plural(names.length, 'tablespace')} outside its data folder (${names.slice(0, 20).join(', ')}), which no copy and no restore includes. fix: move their tables and indexes to pg_default (ALTER TABLE … SET TABLESPACE pg_default), then drop ${names.length === 1 ? 'it' : 'them'}`

/** Settings and files of the database that a load of its dump leaves out or that a rollback disturbs; none of them refuses anything. */
export function databaseWarnings({
  archiveMode,
  replicationSlots,
  alteredSettings,
}: Pick<DatabaseFacts, 'archiveMode' | 'replicationSlots' | 'alteredSettings'>): string[] {
  const list = (names: readonly string[]) => names.slice(0, 20).join(', ')
  return [
    ...(archiveMode === 'off'
      ? []
      : [
          `PostgreSQL archives its write-ahead log (archive_mode=${archiveMode}): after a rollback or restore it archives segments of the same names again. fix: start a new archive with a base backup after each rollback or restore, or set archive_mode to off`,
        ]),
    ...(replicationSlots.length === 0
      ? []
      : [
          `PostgreSQL has ${plural(replicationSlots.length, 'replication slot')} (${list(replicationSlots)}), which a rollback or restore may leave behind or lose, so standbys must be made again. fix: drop slots that nothing uses, because they fill the disk`,
        ]),
    ...(alteredSettings.length === 0
      ? []
      : [
          `PostgreSQL has settings by ALTER SYSTEM (${list(alteredSettings)}), which a load of a dump loses. fix: write them into the command of the service postgres`,
        ]),
  ]
}

type DataFolder = Readonly<{ systemId: string; hasLinkedLog: boolean }>

/** Images put the data folder at most this deep: `18/docker`, `pgdata`. */
const maxDepth = 4

/** The data folders in a volume; undefined where the agent may not read it. */
async function dataFolders(root: string): Promise<DataFolder[] | undefined> {
  try {
    return await foldersIn(root, maxDepth)
  } catch {
    return undefined
  }
}

async function foldersIn(folder: string, depth: number): Promise<DataFolder[]> {
  const systemId = await systemIdOf(folder).catch(ifMissing)
  if (systemId !== undefined) {
    const log = await lstat(join(folder, 'pg_wal')).catch(ifMissing)
    return [{ systemId, hasLinkedLog: log?.isSymbolicLink() === true }]
  }
  if (depth === 0) return []
  const entries = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  return (await Promise.all(entries.map(({ name }) => foldersIn(join(folder, name), depth - 1)))).flat()
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
}

/** The identity of a database is the first field of this file. */
const systemIdOf = async (folder: string): Promise<string> =>
  (await readBeginning(folder, join('global', 'pg_control'), 8)).readBigUInt64LE(0).toString()
