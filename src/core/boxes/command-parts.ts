import { z } from 'zod'
import { Digest, ImageRef } from './images.ts'
import { Service, Slug, VersionedService } from './names.ts'
import { ProbeResult } from './probe.ts'

// The parts that commands to boxes are made of, and what their results say.

/** Installed versions per component; `unknown` where it could not be found out. */
export const InstalledVersions = z.object({ migrationsHead: z.string(), postgres: z.string(), synapse: z.string(), minio: z.string() })
export type InstalledVersions = z.infer<typeof InstalledVersions>

const RunningService = z.object({
  image: z.string(),
  /** The registry digest of the running image; null for an image that was never in a registry. */
  digest: Digest.nullable(),
  state: z.enum(['running', 'restarting', 'exited', 'missing']),
  restartCount: z.number().int(),
})

/** What a pre-flight needs to know beside versions (SAFETY, Pre-flight); null where it could not be found out. */
export const BoxFacts = z.object({
  /** Of the chat server's own tables: what its schema is, and the oldest program that may still read it. */
  schemaVersion: z.number().int().nullable(),
  compatVersion: z.number().int().nullable(),
  /** Names of the chat server's background updates that have not ended. */
  backgroundUpdates: z.array(z.string().max(200)).max(100).nullable(),
  /** `C` needs no care; any other is bound to the C library that sorted its indexes. */
  collation: z.string().max(100).nullable(),
  libc: z.enum(['glibc', 'musl']).nullable(),
  mediaBytes: z.number().min(0).nullable(),
  objectBytes: z.number().min(0).nullable(),
  freeDiskBytes: z.number().min(0).nullable(),
  /** Compose services outside the four, and services that `up` would recreate though nobody planned it. */
  otherServices: z.array(z.string().max(100)).max(50).nullable(),
  wouldRecreate: z.array(z.string().max(100)).max(50).nullable(),
  /** The compose file is not the one that this agent wrote last. */
  composeChanged: z.boolean().nullable(),
})
export type BoxFacts = z.infer<typeof BoxFacts>

/** What RUNS in a box, never what its file says (SAFETY). */
export const VersionsReport = z.object({
  slug: z.string(),
  at: z.string(),
  installed: InstalledVersions,
  services: z.record(Service, RunningService.optional()),
  fenced: z.boolean(),
  ownershipEpoch: z.number().int(),
  managed: z.boolean(),
  /** It rests fenced and stopped: another host has it, or may take it. */
  handedOver: z.boolean().optional(),
  /** Size of the database, where the host can tell; canaries are chosen by it. */
  databaseBytes: z.number().min(0).optional(),
  /** Why and since when it is fenced: the command or person that did it, as the switch in the edge's folder says. */
  fence: z.object({ holder: z.string().max(200), since: z.string().nullable() }).optional(),
  /** What the pre-flight weighs; absent where the box is too sick to be asked. */
  facts: BoxFacts.optional(),
})
export type VersionsReport = z.infer<typeof VersionsReport>

export const AgentError = z.object({ code: z.string(), message: z.string() })
export type AgentError = z.infer<typeof AgentError>

/** Where a step of a command stands; the daemon shows it and never decides by it. */
export const Progress = z.object({
  step: z.string().max(60),
  detail: z.string().max(500).optional(),
  percent: z.number().min(0).max(100).optional(),
  at: z.string(),
  /** When the step began, where something of it was told or left untold before. */
  since: z.string().max(40).optional(),
})
export type Progress = z.infer<typeof Progress>

/** Which box a command means, and under whose ownership; a lower epoch than the host's own is refused. */
export const AddressedBox = { slug: Slug, boxId: z.string(), ownershipEpoch: z.number().int().min(1) }

const targets = <Image extends z.ZodType>(image: Image) =>
  z.object({
    /** Only services that change. */
    services: z.partialRecord(VersionedService, image),
    migrationsHead: z.string(),
  })
/** The digest may be absent: a prefetch finds it out. */
export const PrefetchTargets = targets(z.object({ image: ImageRef, digest: Digest.optional() }))
/** An update runs exactly what was pinned: a tag alone could have moved since. */
export const UpdateTargets = targets(z.object({ image: ImageRef, digest: Digest }))
export type UpdateTargets = z.infer<typeof UpdateTargets>

/** What a tag was when its registry was asked, or why nobody could say. */
export const ResolvedImage = z.object({ image: ImageRef, digest: Digest.nullable(), error: AgentError.nullable() })
export type ResolvedImage = z.infer<typeof ResolvedImage>

/**
 * The steps of the guarded update in their order; the last four only on the way back. `first-ok` is the one good probe after which the fence
 * may be lifted, `serve` the start of the chat server where there is no fence.
 */
export const UpdateStep = z.enum([
  'prefetch',
  'fence',
  'stop',
  'snapshot',
  'cold-copy',
  'rewrite',
  'recreate',
  'serve',
  'first-ok',
  'probe',
  'commit',
  'unfence',
  'restore-stop',
  'restore-data',
  'restore-start',
  'restore-probe',
])
export type UpdateStep = z.infer<typeof UpdateStep>

/** `rollback_failed` rests fenced and stopped, with both volume sets, until an operator decides. */
export const UpdateOutcome = z.enum(['committed', 'failed', 'rolled_back', 'rollback_failed'])
export type UpdateOutcome = z.infer<typeof UpdateOutcome>

/** How an update brought the former database back: by which of the two ways, and how long that took beside the copying itself. */
export const RestoredDatabase = z.object({
  from: z.enum(['cold-copy', 'dump']),
  tookMs: z.number().min(0),
  /** How long the chat waited for the cold copy to be made; absent where none was. */
  copiedMs: z.number().min(0).optional(),
})
export type RestoredDatabase = z.infer<typeof RestoredDatabase>

/**
 * What an update leaves as proof. `failed` = no container was replaced and no data touched, what had been stopped runs again; or, with
 * `leftOpen`, users are on the new version, unproven, and nothing goes back by itself.
 */
export const UpdateResult = z.object({
  outcome: UpdateOutcome,
  snapshotOk: z.boolean(),
  updateOk: z.boolean(),
  healthOk: z.boolean(),
  rolledBack: z.boolean(),
  leftOpen: z.boolean().optional(),
  snapshotId: z.string().nullable(),
  snapshotSha256: z.string().nullable(),
  /** By the clock of the host, as the report's time is. */
  snapshotTakenAt: z.string().optional(),
  durationMs: z.number(),
  fencedMs: z.number(),
  digestsBefore: z.record(z.string(), z.string().nullable()),
  digestsAfter: z.record(z.string(), z.string().nullable()),
  probes: z.array(ProbeResult),
  composeBackup: z.string().nullable(),
  /** Absent where no database was brought back, and of earlier agents. */
  restored: RestoredDatabase.optional(),
  report: VersionsReport.nullable(),
  error: AgentError.nullable(),
})
export type UpdateResult = z.infer<typeof UpdateResult>

/** Why a snapshot was taken; retention is counted per tier. */
export const SnapshotTier = z.enum(['pre-update', 'daily', 'manual', 'pre-restore', 'final'])
export type SnapshotTier = z.infer<typeof SnapshotTier>

/** A complete snapshot, as its maker saw it end. */
export const SnapshotTaken = z.object({
  snapshotId: z.string().regex(/^[0-9a-f]{8,64}$/),
  tier: SnapshotTier,
  /** Sum of the manifest in the snapshot, which holds the sums of all else. */
  snapshotSha256: z.string().regex(/^[0-9a-f]{64}$/),
  takenAt: z.string(),
  durationMs: z.number().min(0),
  addedBytes: z.number().min(0),
  files: z.number().int().min(0),
  installed: InstalledVersions,
})
export type SnapshotTaken = z.infer<typeof SnapshotTaken>

/** The snapshot that a command is to work with, and the sum that its manifest must have; null = taken before sums were kept. */
export const SnapshotInput = { snapshotId: SnapshotTaken.shape.snapshotId, snapshotSha256: SnapshotTaken.shape.snapshotSha256.nullable() }

/**
 * `restored` = runs with the snapshot's data, proven. `failed` = as it was before, proven. `restore_failed` = rests fenced and stopped,
 * with both volume sets, until an operator decides.
 */
export const RestoreOutcome = z.enum(['restored', 'failed', 'restore_failed'])
export type RestoreOutcome = z.infer<typeof RestoreOutcome>

export const RestoreResult = z.object({
  outcome: RestoreOutcome,
  snapshotId: z.string(),
  /** What was there before, kept as `pre-restore`; null when it failed before that. */
  preRestore: SnapshotTaken.nullable(),
  durationMs: z.number(),
  fencedMs: z.number(),
  probes: z.array(ProbeResult),
  report: VersionsReport.nullable(),
  error: AgentError.nullable(),
})
export type RestoreResult = z.infer<typeof RestoreResult>

/** A drill never touches the box itself: whatever it finds is a result. */
export const DrillResult = z.object({
  ok: z.boolean(),
  snapshotId: z.string(),
  durationMs: z.number(),
  /** From the start of the load to the first good probe: what a real restore would take. */
  restoreMs: z.number().nullable(),
  tables: z.number().int().nullable(),
  rows: z.number().nullable(),
  probe: ProbeResult.nullable(),
  error: AgentError.nullable(),
})
export type DrillResult = z.infer<typeof DrillResult>

/** A snapshot as the repository lists it. */
export const ListedSnapshot = z.object({
  snapshotId: z.string(),
  tier: SnapshotTier.nullable(),
  commandId: z.string().nullable(),
  slug: z.string().nullable(),
  takenAt: z.string(),
  addedBytes: z.number().min(0),
})
export type ListedSnapshot = z.infer<typeof ListedSnapshot>

/** What looking after a repository brought to light. */
export const RepositoryReport = z.object({
  forgotten: z.array(z.string()),
  present: z.array(ListedSnapshot).max(5_000),
  freedBytes: z.number().min(0).nullable(),
  check: z.object({ ok: z.boolean(), error: AgentError.nullable() }).nullable(),
})
export type RepositoryReport = z.infer<typeof RepositoryReport>

/** One line of a container's output; the time is the engine's. */
export const LogLine = z.object({ at: z.string(), service: z.string(), text: z.string().max(4_000) })
export type LogLine = z.infer<typeof LogLine>
