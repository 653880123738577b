import { z } from 'zod'
import { FenceMode, StoredSnapshotMode } from './fences.ts'
import { HotCopyFacts } from './hot-copy.ts'
import { Digest, ImageRef } from './images.ts'
import { Service, Slug, VersionedService } from './names.ts'
import { ProbeResult } from './probe.ts'
import { LogLine } from './services.ts'

// The schemas shared by commands to boxes and their results.

/** Installed versions per component; `unknown` where the agent could not read one. */
export const InstalledVersions = z.object({ migrationsHead: z.string(), postgres: z.string(), synapse: z.string(), minio: z.string() })
export type InstalledVersions = z.infer<typeof InstalledVersions>

const RunningService = z.object({
  image: z.string(),
  /** The registry digest of the running image; null for an image that was never in a registry. */
  digest: Digest.nullable(),
  state: z.enum(['running', 'restarting', 'exited', 'missing']),
  restartCount: z.number().int(),
})

/** A volume that an upgrade of PostgreSQL left behind; its agent removes it after `until`. */
const FormerDatabase = z.object({
  volume: z.string().max(300),
  /** The version of PostgreSQL that wrote it. */
  version: z.string().max(50),
  /** Null while unknown. */
  bytes: z.number().min(0).nullable(),
  until: z.string(),
})

/** Facts for a preflight beside versions (SAFETY, Pre-flight); null where the agent could not read one. */
export const BoxFacts = z.object({
  /** The chat server's schema version, and the oldest schema version a program may have to read it. */
  schemaVersion: z.number().int().nullable(),
  compatVersion: z.number().int().nullable(),
  /** Names of the chat server's unfinished background updates. */
  backgroundUpdates: z.array(z.string().max(200)).max(100).nullable(),
  /** Any collation but `C` depends on the C library that sorted its indexes. */
  collation: z.string().max(100).nullable(),
  /** The needs of a hot copy; absent where the agent does not make any. */
  hotCopy: HotCopyFacts.nullable().optional(),
  /** Absent where the agent does not upgrade PostgreSQL. */
  formerDatabases: z.array(FormerDatabase).max(20).nullable().optional(),
  libc: z.enum(['glibc', 'musl']).nullable(),
  mediaBytes: z.number().min(0).nullable(),
  objectBytes: z.number().min(0).nullable(),
  freeDiskBytes: z.number().min(0).nullable(),
  /** Compose services beside the four, and services whose container differs from what compose would bring up. */
  otherServices: z.array(z.string().max(100)).max(50).nullable(),
  wouldRecreate: z.array(z.string().max(100)).max(50).nullable(),
  /** The differences of `wouldRecreate`, one sentence each with its fix; absent where there are none. */
  differences: z.array(z.string().max(500)).max(20).nullable().optional(),
  /** Services that another compose version created, with nothing but its config hash different; absent where there are none. */
  otherCompose: z.array(Service).nullable().optional(),
  /** Networks that another compose version created and that the installed one would recreate; absent where there are none. */
  otherNetworks: z.array(z.string().max(200)).max(20).nullable().optional(),
  /** The compose file differs from the one this agent wrote last. */
  composeChanged: z.boolean().nullable(),
  /** Why no restore could replace the volumes, and services with more than one container. */
  notRestorable: z.array(z.string().max(500)).max(10).nullable(),
  scaledServices: z.array(Service).nullable(),
  /** Why the box may not have its extra compose file; absent where it may. */
  extra: z.array(z.string().max(500)).max(20).nullable().optional(),
})
export type BoxFacts = z.infer<typeof BoxFacts>

/** A result of the agent alone: it checks each open box every minute. */
const BoxWatch = z.object({
  check: ProbeResult,
  /** Restarts of containers by the engine within the last 15 minutes. */
  restarts: z.partialRecord(Service, z.number().int().min(0)),
})
export type BoxWatch = z.infer<typeof BoxWatch>

/** The versions that run in a box, never those its compose file names (SAFETY). */
export const VersionsReport = z.object({
  slug: z.string(),
  at: z.string(),
  installed: InstalledVersions,
  services: z.partialRecord(Service, RunningService.optional()),
  fenced: z.boolean(),
  ownershipEpoch: z.number().int(),
  managed: z.boolean(),
  /** Fenced and stopped: another host has it, or may take it over. */
  handedOver: z.boolean().optional(),
  /** Size of the database, where the host can read it; canaries are chosen by it. */
  databaseBytes: z.number().min(0).optional(),
  /** The owner of the fence and its start, read from the switch in the edge's folder. */
  fence: z.object({ holder: z.string().max(200), since: z.string().nullable() }).optional(),
  /** Preflight facts; absent where the box does not answer. */
  facts: BoxFacts.optional(),
  /** The last check of the agent; absent before its first, and while the box is closed. */
  watch: BoxWatch.optional(),
})
export type VersionsReport = z.infer<typeof VersionsReport>

export const AgentError = z.object({ code: z.string(), message: z.string() })
export type AgentError = z.infer<typeof AgentError>

/** Progress of a command's step; the daemon shows it and never decides by it. */
export const Progress = z.object({
  step: z.string().max(60),
  detail: z.string().max(500).optional(),
  percent: z.number().min(0).max(100).optional(),
  at: z.string(),
  /** When the step began, where earlier progress of it was sent or dropped. */
  since: z.string().max(40).optional(),
})
export type Progress = z.infer<typeof Progress>

/** The box of a command and its ownership epoch; the agent refuses a lower epoch than its own. */
export const AddressedBox = { slug: Slug, boxId: z.string(), ownershipEpoch: z.number().int().min(1) }

const targets = <Image extends z.ZodType>(image: Image) =>
  z.object({
    /** Only services that change. */
    services: z.partialRecord(VersionedService, image),
    migrationsHead: z.string(),
  })
/** The digest may be absent: a prefetch resolves it. */
export const PrefetchTargets = targets(z.object({ image: ImageRef, digest: Digest.optional() }))
/** An update runs the pinned digest: a tag alone may have changed since. */
export const UpdateTargets = targets(z.object({ image: ImageRef, digest: Digest }))
export type UpdateTargets = z.infer<typeof UpdateTargets>

/** The digest of a tag in its registry, or why it could not be resolved. */
export const ResolvedImage = z.object({ image: ImageRef, digest: Digest.nullable(), error: AgentError.nullable() })
export type ResolvedImage = z.infer<typeof ResolvedImage>

/**
 * The steps of the guarded update in order; the last six belong to a rollback. `hot-copy` copies the database while the box serves. `upgrade` loads the
 * copy into a volume of another major version of PostgreSQL. `serve` starts the chat server where there is no fence.
 * `quick-probe` proves a box that is to be opened, `check-rollback` whether it could be rolled back by images afterwards. After a failure of an
 * open box `confirm-rollback` checks that again, and `refence` closes it for that rollback.
 */
export const UpdateStep = z.enum([
  'prefetch',
  'hot-copy',
  'fence',
  'stop',
  'snapshot',
  'cold-copy',
  'upgrade',
  'rewrite',
  'recreate',
  'serve',
  'quick-probe',
  'check-rollback',
  'probe',
  'commit',
  'unfence',
  'confirm-rollback',
  'refence',
  'restore-stop',
  'restore-data',
  'restore-start',
  'restore-probe',
])
export type UpdateStep = z.infer<typeof UpdateStep>

/** `rollback_failed`: quarantined (fenced and stopped, with both volume sets) until an operator decides. */
export const UpdateOutcome = z.enum(['committed', 'failed', 'rolled_back', 'rollback_failed'])
export type UpdateOutcome = z.infer<typeof UpdateOutcome>

/** How a rollback restored the former database, and its duration without the copying. `former-volume`: after an upgrade of PostgreSQL. */
export const RestoredDatabase = z.object({
  from: z.enum(['cold-copy', 'dump', 'former-volume']),
  tookMs: z.number().min(0),
  /** Downtime spent on making the cold copy; absent where none was made. */
  copiedMs: z.number().min(0).optional(),
})
export type RestoredDatabase = z.infer<typeof RestoredDatabase>

/**
 * Whether a rollback by images would keep all data: the former chat server starts on the database and knows its background updates. `isStable`:
 * the slow probes were good before that was possible.
 */
export const ImageRollback = z.object({
  possible: z.boolean(),
  reason: z.string().max(500).optional(),
  isStable: z.boolean().optional(),
})
export type ImageRollback = z.infer<typeof ImageRollback>

const Ms = z.number().min(0).optional()

/** The parts of the downtime of an update; a part that did not run is absent. */
export const Downtime = z.object({
  /** The mode that the agent applied. */
  mode: FenceMode,
  /** Why the box stayed fenced longer than ordered. */
  reason: z.string().max(500).optional(),
  /** When the snapshot was stored, and why not as ordered. */
  snapshot: StoredSnapshotMode.optional(),
  snapshotReason: z.string().max(500).optional(),
  databaseBytes: z.number().min(0).optional(),
  stopMs: Ms,
  /** Dump, checksums and store; with `hot` no part of the downtime. */
  snapshotMs: Ms,
  /** The step of its own that copied the database; a copy during the snapshot is none. */
  copyMs: Ms,
  /** The copying of the database, in whichever step. With `hot` of the write-ahead log alone. */
  copyingMs: Ms,
  /** With `hot`: the copy that was made while the box served. Its recovery begins at `fromLsn` and ends at the shutdown checkpoint `endLsn`. */
  hotCopy: z.object({ bytes: z.number().min(0), tookMs: z.number().min(0), fromLsn: z.string(), endLsn: z.string() }).optional(),
  /** The dump, the load and the comparison of an upgrade of PostgreSQL. */
  upgradeMs: Ms,
  /** Until the containers were started. */
  startMs: Ms,
  /** From then to the first good probe. */
  firstGoodMs: Ms,
  /** Check whether a rollback by images is possible, background updates included. */
  checkMs: Ms,
})
export type Downtime = z.infer<typeof Downtime>

/**
 * The result of an update. `failed` = no container was replaced and no data touched, and stopped services run again; with `leftOpen`, users
 * are on the new version although it is unverified, and nothing rolls back automatically.
 */
export const UpdateResult = z.object({
  outcome: UpdateOutcome,
  snapshotOk: z.boolean(),
  updateOk: z.boolean(),
  healthOk: z.boolean(),
  rolledBack: z.boolean(),
  /** A rollback by images keeps all data; absent without a rollback. */
  rolledBackBy: z.enum(['images', 'snapshot']).optional(),
  leftOpen: z.boolean().optional(),
  snapshotId: z.string().nullable(),
  snapshotSha256: z.string().nullable(),
  /** Time of the host's clock, like the report's time. */
  snapshotTakenAt: z.string().optional(),
  durationMs: z.number(),
  fencedMs: z.number(),
  digestsBefore: z.record(z.string(), z.string().nullable()),
  digestsAfter: z.record(z.string(), z.string().nullable()),
  probes: z.array(ProbeResult),
  composeBackup: z.string().nullable(),
  /** Absent where no database was restored. */
  restored: RestoredDatabase.optional(),
  /** Absent where the update failed before its fence. */
  downtime: Downtime.optional(),
  /** The last lines of the services that failed, from before the rollback replaced them, without secrets; absent where no step failed. */
  logs: z.array(LogLine).max(1000).optional(),
  report: VersionsReport.nullable(),
  error: AgentError.nullable(),
})
export type UpdateResult = z.infer<typeof UpdateResult>

/** The reason for a snapshot; retention counts per tier. */
export const SnapshotTier = z.enum(['pre-update', 'daily', 'manual', 'pre-restore', 'final', 'recovered'])
export type SnapshotTier = z.infer<typeof SnapshotTier>

/** A complete snapshot, as reported by the agent that took it. */
export const SnapshotTaken = z.object({
  snapshotId: z.string().regex(/^[0-9a-f]{8,64}$/),
  tier: SnapshotTier,
  /** SHA-256 of the manifest in the snapshot, which has the checksums of everything else. */
  snapshotSha256: z.string().regex(/^[0-9a-f]{64}$/),
  takenAt: z.string(),
  durationMs: z.number().min(0),
  addedBytes: z.number().min(0),
  files: z.number().int().min(0),
  installed: InstalledVersions,
})
export type SnapshotTaken = z.infer<typeof SnapshotTaken>

/** The snapshot of a command, and the checksum of its manifest; null for snapshots from before checksums were stored. */
export const SnapshotInput = { snapshotId: SnapshotTaken.shape.snapshotId, snapshotSha256: SnapshotTaken.shape.snapshotSha256.nullable() }

/**
 * `restored` = runs with the snapshot's data, verified. `failed` = unchanged, verified. `restore_failed` = quarantined (fenced and stopped),
 * with both volume sets, until an operator decides.
 */
export const RestoreOutcome = z.enum(['restored', 'failed', 'restore_failed'])
export type RestoreOutcome = z.infer<typeof RestoreOutcome>

/** Most files that a restore names as kept. */
export const maxKeptFiles = 50

export const RestoreResult = z.object({
  outcome: RestoreOutcome,
  snapshotId: z.string(),
  /** The snapshot of the former data (`pre-restore`); null when the restore failed before it. */
  preRestore: SnapshotTaken.nullable(),
  /** Files in the box folder that the snapshot does not have and that stayed, as relative paths; absent where nothing was restored. */
  keptFiles: z.array(z.string()).max(maxKeptFiles).optional(),
  durationMs: z.number(),
  fencedMs: z.number(),
  probes: z.array(ProbeResult),
  report: VersionsReport.nullable(),
  error: AgentError.nullable(),
})
export type RestoreResult = z.infer<typeof RestoreResult>
