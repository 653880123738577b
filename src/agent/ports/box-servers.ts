import type {
  AppliedMigration,
  BoxFacts,
  BoxMigration,
  DatabaseContent,
  HotCopyFacts,
  ProbeResult,
  UpgradeFacts,
  UpgradeTarget,
} from '../../core/boxes/index.ts'
import type { Secret } from '../../core/kit/index.ts'
import type { Project } from './container-engine.ts'

/** Row counts by table, taken with the dump and compared after a restore. */
export type RowCounts = Readonly<Record<string, number>>

/** Stream positions of the chat server: database sequences, and the position recorded by each writer. */
export type StreamPositions = Readonly<{
  sequences: Readonly<Record<string, number>>
  writers: readonly Readonly<{ stream: string; instance: string; position: number }>[]
}>

/** Facts about a database, read with one query. */
export type DatabaseFacts = Pick<BoxFacts, 'schemaVersion' | 'compatVersion' | 'backgroundUpdates' | 'collation'> &
  Readonly<{
    bytes: number
    /** Made with the database files, and in `global/pg_control` of them; null where unknown. */
    systemId: string | null
    /** Changes whenever a background update makes progress; null where none is pending. */
    backgroundProgress: string | null
    /** Databases of the same server that dumps do not include. */
    otherDatabases: readonly string[]
    /** Besides those of every PostgreSQL; with their folder. */
    tablespaces: readonly string[]
    /** `off`, `on` or `always`. */
    archiveMode: string
    replicationSlots: readonly string[]
    /** Names of settings by ALTER SYSTEM; empty where the role may not read them. */
    alteredSettings: readonly string[]
    /** Applied box migrations, in order. */
    migrations: readonly AppliedMigration[]
    /** Box migrations must not run as a superuser. */
    ownerIsSuperuser: boolean
    /** Null where PostgreSQL does not report it. */
    hotCopy: HotCopyFacts | null
  }>

/**
 * A backup of a database that runs, for a copy of its data folder. Its session keeps the write-ahead log since its begin; the server keeps
 * nothing of it once the session is over, also where the agent died. Its calls throw SNAPSHOT_FAILED.
 */
export type DatabaseBackup = Readonly<{
  /** Recovery of a copy begins here, in this segment of the log. */
  fromLsn: string
  segment: string
  /** Ends the backup mode once the data folder is copied; returns the text of the copy's `backup_label`. The log is still kept. */
  finishCopy(): Promise<string>
  /** Closes the segment that is written to, and returns the next one. */
  switchLog(): Promise<string>
  end(): Promise<void>
}>

/**
 * The write-ahead log of a database that runs, kept since `from` until it is released. The server keeps nothing of it once the session is over,
 * also where the agent died. Its calls throw SNAPSHOT_FAILED.
 */
export type HeldLog = Readonly<{
  systemId: string
  segmentBytes: number
  from: bigint
  /** Up to where the log is on the disk. */
  position(): Promise<Readonly<{ timeline: number; flushed: bigint }>>
  /** Log before it is needed no more. */
  release(before: bigint): Promise<void>
  end(): Promise<void>
}>

/** Media of a database. */
export type MediaSample = Readonly<{
  /** Rows that name no file of their own: previews of links, and uploads that never came. */
  withoutFile: number
  /** By the path below the media folder; the checksum where the database knows it. */
  sample: readonly Readonly<{ path: string; bytes: number; sha256: string | null }>[]
}>

/** A database of a foreign chat server, as a program in its own container reaches it. */
export type ForeignDatabase = Readonly<{
  container: string
  database: string
  /** Reads every table. */
  role: string
  port: number
  /** By its socket, or by TCP. */
  isLocal: boolean
  /** Schemas that stay behind. */
  otherSchemas: readonly string[]
  /** It has extensions beside plpgsql, which stay behind. */
  hasExtensions: boolean
  /** Its data folder on this host, and the identity of the files in it. */
  files?: Readonly<{ folder: string; systemId: string }>
}>

/** Rows and last events of a foreign database at one moment. */
export type ForeignContent = Readonly<{ rows: RowCounts; mark: ChatMark }>

/** How far a chat server has written. */
export type ChatMark = Readonly<{
  /** The highest position of an event. */
  position: number
  /** Ids of the last events, newest first. */
  lastEvents: readonly string[]
}>

/** Content that users wrote into a chat server since a mark. */
export type Written = Readonly<{ events: number; media: number; lastAt: string | null }>

/** The upgrade of a copy to another major version: `former` is a server on the copy, `next` one of the new version, which reaches it. */
export type DatabaseUpgrades = Readonly<{
  /** Throws BOX_UNHEALTHY. */
  facts(box: LocalBox, signal?: AbortSignal): Promise<UpgradeFacts>
  target(next: LocalBox, signal?: AbortSignal): Promise<UpgradeTarget>
  /** Dumps roles and database with the programs of the new version; returns the bytes of the dump. Throws SNAPSHOT_FAILED or DISK_FULL. */
  dump(servers: UpgradeServers, jobs: number, signal?: AbortSignal): Promise<number>
  /** Loads the dump. Throws RESTORE_FAILED or DISK_FULL. */
  load(servers: UpgradeServers, jobs: number, signal?: AbortSignal): Promise<void>
  /** Throws RESTORE_FAILED. */
  analyze(servers: UpgradeServers, jobs: number, signal?: AbortSignal): Promise<void>
  /** Compares the database of the chat server; no program writes to it. Throws RESTORE_FAILED. */
  content(server: LocalBox, database: LocalBox, signal?: AbortSignal): Promise<DatabaseContent>
}>

export type UpgradeServers = Readonly<{ former: LocalBox; next: LocalBox }>

/** Account of probes; its token stays on the host. */
export type ProbeAccount = Readonly<{ userId: string; accessToken: string; roomId: string }>

/**
 * Synapse, PostgreSQL and MinIO of a running box: probe, versions, accounts, dump and load of the database. Real over exec and HTTP, or
 * simulated. Throws BOX_UNHEALTHY when the database container is down; an abort throws the signal's reason.
 */
export type BoxServers = Readonly<{
  /** One writing probe (SAFETY, The probe). An unhealthy box is a result, not an error. */
  probe(box: LocalBox, signal?: AbortSignal): Promise<ProbeResult>
  /** One light probe, as often as every minute. With `writes` it also writes to the database and the object store what replaces itself. */
  check(box: LocalBox, writes: boolean, signal?: AbortSignal): Promise<ProbeResult>
  /** True when the chat server answers any request: it listens. Cheap enough to be asked several times a second. */
  chatAnswers(box: LocalBox): Promise<boolean>
  /** Versions reported by the servers; undefined where one does not answer. */
  serverVersions(box: LocalBox): Promise<{ synapse?: string; postgres?: string; minio?: string }>
  /** Writes `pg_dump -Fc` and globals into a new private folder and verifies the dump with `pg_restore --list`. Throws SNAPSHOT_FAILED or DISK_FULL. */
  dumpDatabase(box: LocalBox, folder: string, signal?: AbortSignal): Promise<RowCounts>
  /** The same of a foreign database, without its globals. Its chat server is stopped. Throws SNAPSHOT_FAILED or DISK_FULL. */
  dumpForeignDatabase(
    source: ForeignDatabase,
    dump: Readonly<{ slug: string; folder: string }>,
    signal?: AbortSignal,
  ): Promise<ForeignContent>
  /** Throws SNAPSHOT_FAILED. */
  foreignContent(source: ForeignDatabase, slug: string, signal?: AbortSignal): Promise<ForeignContent>
  /** As `beginBackup`, of a foreign database. */
  beginForeignBackup(
    source: ForeignDatabase,
    backup: Readonly<{ slug: string; name: string }>,
    signal: AbortSignal,
  ): Promise<DatabaseBackup>
  /** True when the server on a copy of a foreign database accepts connections. */
  copyReady(box: LocalBox, source: ForeignDatabase): Promise<boolean>
  /**
   * Gives a copy of a foreign database the role, the name and the settings of a box, without any other role. Throws RESTORE_FAILED; a server that
   * was changed in part never serves.
   */
  adoptCopy(box: LocalBox, source: ForeignDatabase, signal?: AbortSignal): Promise<void>
  /** Throws RESTORE_FAILED. */
  chatMark(box: LocalBox, signal?: AbortSignal): Promise<ChatMark>
  /** Counts events and media since a mark, without those of probes. Throws RESTORE_FAILED. */
  writtenSince(box: LocalBox, since: Readonly<{ mark: ChatMark; at: string }>, signal?: AbortSignal): Promise<Written>
  /**
   * Loads a dump into an empty database, compares row counts, clears one-time keys and runs ANALYZE. Throws RESTORE_FAILED or DISK_FULL; a
   * partial load stays, and later loads refuse it.
   */
  loadDatabase(box: LocalBox, dump: Readonly<{ folder: string; expected: RowCounts }>, signal?: AbortSignal): Promise<void>
  /**
   * Only the last part of a load, for a database restored in another way: compares counts, clears one-time keys, runs ANALYZE. Without expected
   * counts, as of a copy of the whole volume, it only may not be empty, and takes as long for a large one. Throws RESTORE_FAILED.
   */
  finishDatabaseLoad(box: LocalBox, expected: RowCounts | undefined, signal?: AbortSignal): Promise<void>
  /** Compares the rows of all tables. Throws RESTORE_FAILED. */
  compareRows(box: LocalBox, expected: RowCounts, signal?: AbortSignal): Promise<void>
  /** Reads the stream positions; valid only while the chat server is stopped. Throws RESTORE_FAILED. */
  streamPositions(box: LocalBox, signal?: AbortSignal): Promise<StreamPositions>
  /**
   * Advances the streams of a restored database past positions that clients may have seen, so that clients do not skip new messages. With
   * `unknown` it advances further than a box ever gets. Throws RESTORE_FAILED.
   */
  raiseStreams(box: LocalBox, past: StreamPositions | 'unknown', signal?: AbortSignal): Promise<void>
  /**
   * The newest media that the database names and, of the others, random ones; users' media before those of probes. Throws RESTORE_FAILED.
   */
  sampleMedia(box: LocalBox, count: Readonly<{ newest: number; random: number }>, signal?: AbortSignal): Promise<MediaSample>
  /** Creates or finds the probe user and its room. The user belongs to the application service, which has no rate limits. Throws PROBE_FAILED. */
  createProbeAccount(box: LocalBox, appserviceToken: Secret, signal?: AbortSignal): Promise<ProbeAccount>
  /**
   * Creates a new account and room with the registration secret, for a temporary copy without application service. Throws PROBE_FAILED, also
   * when an application service is configured, because it owns such names.
   */
  createTemporaryAccount(box: LocalBox, registrationSecret: Secret, signal?: AbortSignal): Promise<ProbeAccount>
  /** Begins a backup, after a checkpoint. `name`: letters, digits and `_`. Throws SNAPSHOT_FAILED. */
  beginBackup(box: LocalBox, name: string, signal: AbortSignal): Promise<DatabaseBackup>
  /** Keeps the log from now on. `name`: letters, digits and `_`. Throws SNAPSHOT_FAILED. */
  holdLog(box: LocalBox, name: string, signal: AbortSignal): Promise<HeldLog>
  /** Size of the database on disk in bytes; undefined when it does not answer. */
  databaseBytes(box: LocalBox): Promise<number | undefined>
  /** Facts for the preflight; undefined when the database does not answer. */
  databaseFacts(box: LocalBox): Promise<DatabaseFacts | undefined>
  /**
   * Runs one box migration as the database owner and records head and checksum in the same transaction. Skips a recorded migration. Throws
   * UPDATE_FAILED with the database's error.
   */
  applyMigration(box: LocalBox, migration: BoxMigration, signal?: AbortSignal): Promise<void>
  /** True when PostgreSQL accepts connections. */
  databaseReady(box: LocalBox): Promise<boolean>
  upgrades: DatabaseUpgrades
}>

/** Record of a box on its host, stored in the agent's folder; sufficient to work without the daemon. */
export type LocalBox = Readonly<{
  slug: string
  boxId: string
  /** Increases when the box moves to another host; commands with a lower epoch are refused. */
  ownershipEpoch: number
  /** Only managed boxes (edge with probe listener, probe user, literal image tags) are updated. */
  managed: boolean
  chatDomain: string
  project: Project
  /** Host ports of the edge's listeners; null for an observed box. */
  ports: Readonly<{ public: number; platform: number; probe: number }> | null
  /** `0000` before the first box migration. */
  migrationsHead: string
  /** The box is or may be on another host; here it is fenced and stopped. `holder` is the owner of its fence. */
  handedOver?: Readonly<{ at: string; holder: string }>
  /** The owner of the fence that was up when the box was registered again: its command is lost and will not lift it. */
  orphanFence?: string
  /** It was made of a foreign stack, which is stopped and complete: the return path. */
  imported?: ImportedFrom
  /** Volumes that upgrades of PostgreSQL left behind, with the version that wrote them; the agent removes each after `until`. */
  formerDatabases?: readonly FormerDatabase[]
}>

export type FormerDatabase = Readonly<{ volume: string; version: string; until: string }>

type ForeignContainer = Readonly<{ id: string; name: string; alwaysRestarts: boolean }>

/** A foreign stack: enough to stop it, read its data and start it again. */
export type ForeignStack = Readonly<{
  project: string
  /** The database server, if it is of the same project and no other program uses it. It runs until the import is over. */
  last: readonly ForeignContainer[]
  /** Stopped for the switch, in this order: what holds its addresses, the chat server, the object store. */
  stopped: readonly ForeignContainer[]
  database: ForeignDatabase
  /** Folders of the host with its media, and their place in the media folder. */
  media: readonly Readonly<{ from: string; inside: string }>[]
  objects: string | null
  addresses: readonly Readonly<{ address: string; port: number }>[]
}>

export type ImportedFrom = Readonly<{
  at: string
  commandId: string
  mark: ChatMark
  stack: ForeignStack
  /** The record before the import. */
  observed: Pick<LocalBox, 'chatDomain' | 'project' | 'managed' | 'ports'>
}>
