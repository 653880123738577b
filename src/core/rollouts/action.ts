import { z } from 'zod'
import { InstalledVersions, ProbeResult, Progress, RestoredDatabase, TierVersions, VersionsReport } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import type { FirstReport } from '../hosts/index.ts'
import { Finding } from './finding.ts'
import { Phase } from './rollout.ts'

/** Where one box of a rollout stands (DESIGN 7). */
export const ActionStatus = z.enum([
  'pending',
  'preflight',
  'pulling',
  'snapshotting',
  'updating',
  'probing',
  'succeeded',
  'failed',
  'rolling_back',
  'rolled_back',
  'rollback_failed',
  'skipped',
  'cancelled',
])
export type ActionStatus = z.infer<typeof ActionStatus>

/** Code and text; codes are those of the problem catalogue, as far as agents keep to it. */
export const ActionError = z.object({ code: z.string(), message: z.string() })
export type ActionError = z.infer<typeof ActionError>

/** How boxes that are updated already are brought back; `none` leaves them as they are. */
export const RollbackMode = z.enum(['images', 'snapshot'])
export type RollbackMode = z.infer<typeof RollbackMode>

/**
 * The way back of an updated box after its rollout was rolled back. While it is `pending` the action is still `succeeded`; then it is
 * `rolling_back` and ends `rolled_back`, or `rollback_failed` where the box came to rest. An undo that touched nothing, or after which the
 * updated box runs as before, ends `failed` here and leaves the action `succeeded`.
 */
export const ActionRollback = z.object({
  mode: RollbackMode,
  status: z.enum(['pending', 'running', 'undone', 'failed']),
  error: ActionError.nullable(),
})
export type ActionRollback = z.infer<typeof ActionRollback>

/** One per tenant and rollout (spec 2.10). Booleans are null until that step was reached. */
export const RolloutAction = z.object({
  id: z.string(),
  rolloutId: z.string(),
  tenantSlug: z.string(),
  boxId: z.string(),
  hostId: z.string(),
  phase: Phase,
  status: ActionStatus,
  snapshotOk: z.boolean().nullable(),
  updateOk: z.boolean().nullable(),
  healthOk: z.boolean().nullable(),
  rolledBack: z.boolean(),
  snapshotId: z.string().nullable(),
  from: InstalledVersions,
  to: TierVersions,
  /** What the plan found; a box with a refusal that was waived is `skipped`. */
  findings: z.array(Finding),
  /** 0 until it starts; a retry is the next attempt. */
  attempt: z.number().int(),
  /** The step that the agent last told of. */
  progress: Progress.nullable(),
  /** Until when it waits for its maintenance window; null while it waits for none. In the past: it waits for a free place only. */
  waitsUntil: Timestamp.nullable(),
  /** True once a person left this failure out by `skipFailed`. */
  waived: z.boolean(),
  /** Null unless the rollout was rolled back with its boxes. */
  undo: ActionRollback.nullable(),
  startedAt: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
  durationMs: z.number().nullable(),
  fencedMs: z.number().nullable(),
  error: ActionError.nullable(),
})
export type RolloutAction = z.infer<typeof RolloutAction>

/** `durationMs` is null while it is the last one of an attempt that has not ended. */
export const AttemptStep = z.object({ step: z.string(), at: Timestamp, durationMs: z.number().nullable() })
export type AttemptStep = z.infer<typeof AttemptStep>

/** The evidence of one attempt: what ran before, what runs now, what proved it. */
export const RolloutAttempt = z.object({
  attempt: z.number().int(),
  /** An update, or one of the two ways back. */
  kind: z.enum(['update', 'undo-images', 'undo-snapshot']),
  status: ActionStatus,
  startedAt: Timestamp,
  finishedAt: Timestamp.nullable(),
  snapshotId: z.string().nullable(),
  snapshotSha256: z.string().nullable(),
  /** Image per service as it ran before; what an undo by images goes back to. */
  imagesBefore: z.record(z.string(), z.string()),
  digestsBefore: z.record(z.string(), z.string().nullable()),
  digestsAfter: z.record(z.string(), z.string().nullable()),
  probes: z.array(ProbeResult),
  composeBackup: z.string().nullable(),
  /** Null where no database was brought back, and where nobody said how. */
  restored: RestoredDatabase.nullable(),
  /** What the agent told of, in order: when each step began, and how long until the next one, or the end. */
  steps: z.array(AttemptStep),
  durationMs: z.number().nullable(),
  fencedMs: z.number().nullable(),
  report: VersionsReport.nullable(),
  error: ActionError.nullable(),
})
export type RolloutAttempt = z.infer<typeof RolloutAttempt>

type Whose = Readonly<{ rolloutId: string; tenantSlug: string }>

/**
 * What one attempt left behind, as it is bound to the audit chain: the entry of its end holds the sum of this. The fields are named one by
 * one and stay for ever: sums that are written must fit what is read years later. New facts belong into a new version: the second tells how
 * the database came back, and is written only where there is that to tell.
 */
export function evidenceOf({ rolloutId, tenantSlug }: Whose, attempt: RolloutAttempt) {
  const { kind, status, startedAt, finishedAt, durationMs, fencedMs, error } = attempt
  const { imagesBefore, digestsBefore, digestsAfter, snapshotId, snapshotSha256, composeBackup, probes, steps, report, restored } = attempt
  return {
    ...(restored === null ? { version: 1 as const } : { version: 2 as const, restored }),
    rolloutId,
    tenantSlug,
    attempt: attempt.attempt,
    ...{ kind, status, startedAt, finishedAt, durationMs, fencedMs, error },
    ...{ imagesBefore, digestsBefore, digestsAfter, snapshotId, snapshotSha256, composeBackup, probes, steps, report },
  }
}

/** On the wire nothing of it is taken away or put in: its sum would not fit any more. */
export const AttemptEvidence = z.looseObject({
  version: z.literal([1, 2]),
  rolloutId: z.string(),
  tenantSlug: z.string(),
  attempt: z.int(),
  status: z.string(),
})
export type AttemptEvidence = z.infer<typeof AttemptEvidence>

/** One command of an attempt: its steps as they were first told, and its end; null while nothing is known of it. */
type CommandSteps = Readonly<{ steps: readonly FirstReport[]; endedAt: string | null }>

/**
 * The steps of an attempt over all its commands: each lasts until the next one of its command, the last one until the command's end. All times
 * are those of the agent's clock; what would come out negative (its clock was set back) counts as nothing.
 */
export const attemptSteps = (commands: readonly CommandSteps[]): AttemptStep[] =>
  commands.flatMap(({ steps, endedAt }) =>
    steps.map(({ step, at }, index) => ({ step, at, durationMs: between(at, steps[index + 1]?.at ?? endedAt) })),
  )

function between(from: string, to: string | null): number | null {
  const ms = to === null ? Number.NaN : Date.parse(to) - Date.parse(from)
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/**
 * When a command that took so long by its agent's own clock ended, by that same clock; null when the agent did not say. When the daemon heard
 * of it says nothing: two clocks that disagree would turn a short step into a long one.
 */
export function endOfCommand(steps: readonly FirstReport[], durationMs: number | null): string | null {
  const begun = Date.parse(steps[0]?.at ?? '')
  return durationMs === null || Number.isNaN(begun) ? null : new Date(begun + durationMs).toISOString()
}
