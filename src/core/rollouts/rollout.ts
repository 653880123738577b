import { z } from 'zod'
import { Digest, ImageRef, Tier, TierVersions } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'

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

/** Which versions each tier goes to, as the manifest had them when the rollout was made. */
export const TierTargets = z.record(Tier, TierVersions)
export type TierTargets = z.infer<typeof TierTargets>

/** What a tag was when its registry told the plan, or else when the rollout first pulled it; every box must get the same. */
const PinnedDigests = z.record(ImageRef, Digest)

const RollbackCounts = z.object({ total: z.number(), pending: z.number(), running: z.number(), undone: z.number(), failed: z.number() })
export type RollbackCounts = z.infer<typeof RollbackCounts>

/**
 * When the chat of a box opens again during its update (SAFETY): once it proved stable, after its first good probe, or it is never closed
 * by the fence. In the last two nothing goes back by itself once it was open.
 */
export const FenceMode = z.enum(['until-stable', 'until-first-ok', 'none'])
export type FenceMode = z.infer<typeof FenceMode>

/** Actions by where they stand; `running` is everything between its first command and its end. */
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
  /** How far the way back of updated boxes is; null unless the rollout was rolled back with its boxes. */
  undo: RollbackCounts.nullable(),
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

/** A rollout as lists and event streams show it. */
export const RolloutSummary = z.object({
  id: RolloutId,
  kind: RolloutKind,
  status: RolloutStatus,
  /** The status before the pause; only while `paused`. */
  previousStatus: RolloutStatus.nullable(),
  pauseReason: z.string().nullable(),
  /** Why it ended `failed` or `rolled_back`. */
  error: z.string().nullable(),
  /** Why it was made. */
  reason: z.string().nullable(),
  cveId: z.string().nullable(),
  triggeredBy: z.string().nullable(),
  createdBy: z.string(),
  manifestRevision: z.number().int(),
  targetSlugs: z.array(z.string()).nullable(),
  /** Boxes of a phase that must fail before it takes no new ones. */
  failureThreshold: z.number().int(),
  /** Pauses by itself when this phase is through. */
  holdAfter: Phase.nullable(),
  fenceMode: FenceMode,
  /** Boxes are updated outside their maintenance windows too; an emergency does so anyway. */
  ignoreWindows: z.boolean(),
  /** Nothing is under way, and the next box waits for its maintenance window until then. */
  waitingUntil: Timestamp.nullable(),
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
  auditLog: z.array(AuditLine),
})
export type Rollout = z.infer<typeof Rollout>
