import type { ProbeResult } from '../../core/boxes/index.ts'
import type { Secret } from '../../core/kit/index.ts'
import type { LocalBox } from './local-box.ts'

/** Row counts per table, taken with the dump and compared after a restore. */
export type RowCounts = Readonly<Record<string, number>>

/** The account that probes write as; its token stays on the box's host. */
export type ProbeAccount = Readonly<{ userId: string; accessToken: string; roomId: string }>

/**
 * What is done inside a running box: questions to its servers, dump and load of its database.
 * Real over exec and HTTP, simulated for simulated hosts; the steps of an update know only this.
 */
export type BoxInside = Readonly<{
  /** One writing probe (SAFETY, The probe); never throws for a sick box: it says what is wrong. */
  probe(box: LocalBox, signal?: AbortSignal): Promise<ProbeResult>
  /** The versions that the servers themselves tell; undefined where one does not answer. */
  serverVersions(box: LocalBox): Promise<{ synapse?: string; postgres?: string; minio?: string }>
  /** `pg_dump -Fc` and globals into a folder, each with its own exit status, listed once with `pg_restore --list`. Throws SNAPSHOT_FAILED or DISK_FULL. */
  dumpDatabase(box: LocalBox, folder: string, signal?: AbortSignal): Promise<RowCounts>
  /** Loads a dump into an empty database of the running PostgreSQL, compares the counts, clears what must not be used twice, ANALYZEs. Throws RESTORE_FAILED. */
  loadDatabase(box: LocalBox, folder: string, expected: RowCounts, signal?: AbortSignal): Promise<void>
  /**
   * Makes the probe user (of the platform's application service, so that no rate limit stands in a probe's way) and its room, or finds
   * both again. Needs an answering chat server; throws PROBE_FAILED.
   */
  createProbeAccount(box: LocalBox, appserviceToken: Secret, signal?: AbortSignal): Promise<ProbeAccount>
  /** Size of the database on disk; undefined where it does not answer. */
  databaseBytes(box: LocalBox): Promise<number | undefined>
  /** True when PostgreSQL of the box takes connections. */
  databaseReady(box: LocalBox): Promise<boolean>
}>
