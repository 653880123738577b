import { z } from 'zod'
import { Digest, ImageRef, Tier, TierVersions } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { RequestedFence, RequestedSnapshot } from './fence-choice.ts'
import { GateState } from './gate.ts'

/** `ro_…` for a staged rollout, `cve-YYYYMMDD-<random8>` for an emergency (spec 2.10). */
export const RolloutId = z
  .string()
  .regex(/^(ro_[0-9a-hjkmnp-tv-z]{20}|cve-[0-9]{8}-[0-9a-z]{8})$/, 'must be the id of a rollout, such as ro_… or cve-20260105-8k2m4x9p')
export type RolloutId = z.infer<typeof RolloutId>

export const RolloutKind = z.enum(['staged', 'emergency_cve'])
export type RolloutKind = z.infer<typeof RolloutKind>

/** Spec 3.7. */
export const RolloutStatus = z.enum([
  'queued',
  'canary',
  'free_5',
  'free_100',
  'pro',
  'enterprise',
  'done',
  'paused',
  'failed',
  'rolled_back',
])
export type RolloutStatus = z.infer<typeof RolloutStatus>

export const Phase = z.enum(['canary', 'free_5', 'free_100', 'pro', 'enterprise'])
export type Phase = z.infer<typeof Phase>

/** Target versions of each tier, from the manifest at the creation of the rollout. */
export const TierTargets = z.record(Tier, TierVersions)
export type TierTargets = z.infer<typeof TierTargets>

/** Digest of each tag, as resolved for the plan or by the first pull; every box gets the same. */
const PinnedDigests = z.record(ImageRef, Digest)

const RollbackCounts = z.object({ total: z.number(), pending: z.number(), running: z.number(), done: z.number(), failed: z.number() })
export type RollbackCounts = z.infer<typeof RollbackCounts>

/** Max boxes at once; the setting of the daemon without it. */
export const Parallel = z.number().int().min(1).max(50).optional()

/** Watching time after each phase: the next one begins only if the updated boxes stay healthy for so long. */
export const BakeMs = z
  .number()
  .int()
  .min(1000)
  .max(7 * 24 * 60 * 60_000)
  .optional()

/** Actions by status; `running` is everything between the first command and the end. */
export const ActionCounts = z.object({
  total: z.number(),
  pending: z.number(),
  running: z.number(),
  succeeded: z.number(),
  failed: z.number(),
  rolledBack: z.number(),
  rollbackFailed: z.number(),
  skipped: z.number(),
  cancelled: z.number(),
  /** Boxes that an operator left out: failed ones, blocked ones, and those skipped by name. They are counted by their status too. */
  leftOut: z.number(),
  /** Progress of the rollback of boxes, also of a finished rollout; null unless one was requested. */
  rollback: RollbackCounts.nullable(),
})
export type ActionCounts = z.infer<typeof ActionCounts>

const AuditLine = z.object({
  seq: z.number(),
  at: Timestamp,
  actor: z.string(),
  action: z.string(),
  subject: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
  hash: z.string(),
})
export type AuditLine = z.infer<typeof AuditLine>

/** The manifest asks for versions although boxes of the rollout were, or are about to be, rolled back from them. */
export const StillAsked = z.object({
  revision: z.number().int().meta({ description: 'The current manifest' }),
  versions: z.array(z.string()).meta({ description: 'The versions that boxes were rolled back from: `synapse 1.163.2`' }),
  formerRevision: z.number().int().nullable().meta({ description: 'The newest earlier manifest without these versions; null: none' }),
})
export type StillAsked = z.infer<typeof StillAsked>

/** A rollout as lists and event streams show it. */
export const RolloutSummary = z.object({
  id: RolloutId,
  kind: RolloutKind,
  status: RolloutStatus,
  /** The status before the pause; only while `paused`. */
  previousStatus: RolloutStatus.nullable(),
  pauseReason: z.string().nullable(),
  /** Why it ended `failed` or `rolled_back`, or why the boxes of a finished one were rolled back. */
  error: z.string().nullable(),
  /** Why it was created. */
  reason: z.string().nullable(),
  cveId: z.string().nullable(),
  triggeredBy: z.string().nullable(),
  createdBy: z.string(),
  manifestRevision: z.number().int(),
  targetSlugs: z.array(z.string()).nullable(),
  /** Number of failed boxes after which a phase begins no more. */
  failureThreshold: z.number().int(),
  /** Pauses after this phase. */
  holdAfter: Phase.nullable(),
  /** Max boxes at once; null: the setting of the daemon. */
  parallel: z.number().int().nullable(),
  /** Watching time after each phase; null without one. */
  bakeMs: z.number().int().nullable(),
  /** The phase is complete, and its boxes are watched until then. Gates are asked after that. */
  bakeUntil: Timestamp.nullable(),
  /** `auto`: the mode of each box is chosen by what its rollback would lose. */
  fenceMode: RequestedFence,
  /** `auto`: the setting of each tier. */
  snapshotMode: RequestedSnapshot,
  /** Boxes are updated outside their maintenance windows too, as in every emergency. */
  ignoreWindows: z.boolean(),
  /** Nothing is in flight, and the next maintenance window opens then. */
  waitingUntil: Timestamp.nullable(),
  /** Unfinished rollouts that it waits for before its first box; empty unless it was started with `queue`. */
  queuedBehind: z.array(RolloutId),
  createdAt: Timestamp,
  startedAt: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
  counts: ActionCounts,
})
export type RolloutSummary = z.infer<typeof RolloutSummary>

export const Rollout = RolloutSummary.extend({
  targets: TierTargets,
  digests: PinnedDigests,
  skipRefused: z.boolean(),
  /** Queries of Prometheus before each next phase, and the answers in this one; empty without gates, as in every emergency. */
  gates: z.array(GateState),
  /** Null while the manifest asks for none of the versions that boxes were rolled back from. */
  stillAsked: StillAsked.nullable(),
  auditLog: z.array(AuditLine),
})
export type Rollout = z.infer<typeof Rollout>

/** The fields that transitions change. */
export type RolloutState = Readonly<{
  kind: RolloutKind
  status: RolloutStatus
  previousStatus: RolloutStatus | null
  pauseReason: string | null
  error: string | null
  bakeUntil: string | null
  gates: GateState[]
  startedAt: string | null
  finishedAt: string | null
}>
