import type { AppliedMigration, BoxFacts, BoxMigration, ProbeResult } from '../../core/boxes/index.ts'
import type { Secret } from '../../core/kit/index.ts'
import type { Project } from './container-engine.ts'

/** Row counts per table, taken with the dump and compared after a restore. */
export type RowCounts = Readonly<Record<string, number>>

/** Where the chat server's streams stand: the sequences of its database, and what each writer wrote down as reached. */
export type StreamPositions = Readonly<{
  sequences: Readonly<Record<string, number>>
  writers: readonly Readonly<{ stream: string; instance: string; position: number }>[]
}>

/** What a database says of itself, in one question. */
export type DatabaseFacts = Pick<BoxFacts, 'schemaVersion' | 'compatVersion' | 'backgroundUpdates' | 'collation'> &
  Readonly<{
    bytes: number
    /** Beside the chat server's own and those that every PostgreSQL has: no dump holds them. */
    otherDatabases: readonly string[]
    /** Box migrations that it says were applied, in order. */
    migrations: readonly AppliedMigration[]
    /** The role that box migrations would run as may do anything: then they must not. */
    ownerIsSuperuser: boolean
  }>

/** The account that probes write as; its token stays on the box's host. */
export type ProbeAccount = Readonly<{ userId: string; accessToken: string; roomId: string }>

/**
 * What is done inside a running box: questions to its servers, dump and load of its database.
 * Real over exec and HTTP, simulated for simulated hosts; the steps of an update know only this.
 * Work on a database whose container does not run throws BOX_UNHEALTHY; what was aborted throws the signal's reason.
 */
export type BoxServers = Readonly<{
  /** One writing probe (SAFETY, The probe); never throws for a sick box: it says what is wrong. */
  probe(box: LocalBox, signal?: AbortSignal): Promise<ProbeResult>
  /** The versions that the servers themselves tell; undefined where one does not answer. */
  serverVersions(box: LocalBox): Promise<{ synapse?: string; postgres?: string; minio?: string }>
  /** `pg_dump -Fc` and globals into a folder, each with its own exit status, listed once with `pg_restore --list`. The folder is made, for its owner alone. Throws SNAPSHOT_FAILED or DISK_FULL. */
  dumpDatabase(box: LocalBox, folder: string, signal?: AbortSignal): Promise<RowCounts>
  /**
   * Loads a dump into an empty database of the running PostgreSQL, compares the counts, clears what must not be used twice, ANALYZEs. Throws
   * RESTORE_FAILED or DISK_FULL; what was loaded by then stays, and no load goes over it.
   */
  loadDatabase(box: LocalBox, folder: string, expected: RowCounts, signal?: AbortSignal): Promise<void>
  /** The end of a load alone, for a database that came back in another way: counts compared, cleared, ANALYZEd. Throws RESTORE_FAILED. */
  settleDatabase(box: LocalBox, expected: RowCounts, signal?: AbortSignal): Promise<void>
  /** How far the streams have come; ask while the chat server is stopped. Throws RESTORE_FAILED. */
  streamPositions(box: LocalBox, signal?: AbortSignal): Promise<StreamPositions>
  /**
   * Moves the streams of a loaded database past positions that clients may know, so that none takes a new message for one that it has seen:
   * for a box that was open after its snapshot. `unknown` where nobody can read the positions any more: then further than a box comes in
   * its life. Throws RESTORE_FAILED.
   */
  raiseStreams(box: LocalBox, past: StreamPositions | 'unknown', signal?: AbortSignal): Promise<void>
  /**
   * Makes the probe user (of the platform's application service, so that no rate limit stands in a probe's way) and its room, or finds
   * both again. Needs an answering chat server; throws PROBE_FAILED.
   */
  createProbeAccount(box: LocalBox, appserviceToken: Secret, signal?: AbortSignal): Promise<ProbeAccount>
  /**
   * Makes an account and a room by the registration secret of the server's own config: for a copy that will be thrown away, in which no
   * application service may speak. Another each time. Throws PROBE_FAILED, also where the service speaks: such
   * names are its own.
   */
  createThrowAwayAccount(box: LocalBox, registrationSecret: Secret, signal?: AbortSignal): Promise<ProbeAccount>
  /** Size of the database on disk; undefined where it does not answer. */
  databaseBytes(box: LocalBox): Promise<number | undefined>
  /** What a pre-flight weighs; undefined where the database does not answer. */
  databaseFacts(box: LocalBox): Promise<DatabaseFacts | undefined>
  /**
   * Runs one box migration as the database's owner and notes head and sum, in one transaction; one that is noted with this sum is not run again.
   * Throws UPDATE_FAILED with the database's own words.
   */
  applyMigration(box: LocalBox, migration: BoxMigration, signal?: AbortSignal): Promise<void>
  /** True when PostgreSQL of the box takes connections. */
  databaseReady(box: LocalBox): Promise<boolean>
}>

/** A box as its own host knows it, kept in the agent's folder: enough to work while the daemon is away. */
export type LocalBox = Readonly<{
  slug: string
  boxId: string
  /** Rises when the box gets another owner; a command with a lower one is refused. */
  ownershipEpoch: number
  /** Only a managed box (edge with probe listener, probe user, literal image tags) is ever updated. */
  managed: boolean
  chatDomain: string
  project: Project
  /** Loopback ports of the edge's listeners; null for a box that is only observed. */
  ports: Readonly<{ public: number; platform: number; probe: number }> | null
  /** `0000` until a box migration was applied. */
  migrationsHead: string
  /** Another host has this box or may have it: it rests fenced and stopped here. `holder` is what its fence says. */
  handedOver?: Readonly<{ at: string; holder: string }>
}>
