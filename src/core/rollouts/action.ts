import { z } from 'zod'
import {
  Downtime,
  FenceMode,
  InstalledVersions,
  LogLine,
  ProbeResult,
  Progress,
  RestoredDatabase,
  TierVersions,
  VersionsReport,
} from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import type { FirstReport } from '../hosts/index.ts'
import { Finding } from './finding.ts'
import { Phase } from './rollout.ts'

/** The status of one box in a rollout (DESIGN 7). */
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

/** A code, of the problem catalogue where the agent knows it, and a message. */
export const ActionError = z.object({ code: z.string(), message: z.string() })
export type ActionError = z.infer<typeof ActionError>

/** How updated boxes are rolled back: to their former images, or to the snapshot from before the update. */
export const RollbackMode = z.enum(['images', 'snapshot'])
export type RollbackMode = z.infer<typeof RollbackMode>

/**
 * The rollback of an updated box. While it is `pending` the action is still `succeeded`; then the action is `rolling_back` and ends
 * `rolled_back`, or `rollback_failed` where the box is stopped. A rollback that left the box running as updated ends `failed` here, and the
 * action `succeeded`.
 */
export const ActionRollback = z.object({
  mode: RollbackMode,
  status: z.enum(['pending', 'running', 'done', 'failed']),
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
  /** Findings of the plan or the preflight; a box with a waived refusal is `skipped`. */
  findings: z.array(Finding),
  /** 0 until it starts; a retry is the next attempt. */
  attempt: z.number().int(),
  /** The last step that the agent reported. */
  progress: Progress.nullable(),
  /** When the maintenance window opens that it waits for; null without one. In the past: it waits for a free slot only. */
  waitsUntil: Timestamp.nullable(),
  /** True once an operator left this box out: a failure, a blocked box, or by name. */
  waived: z.boolean(),
  /** Null unless the rollout was rolled back with its boxes. */
  rollback: ActionRollback.nullable(),
  startedAt: Timestamp.nullable(),
  finishedAt: Timestamp.nullable(),
  durationMs: z.number().nullable(),
  fencedMs: z.number().nullable(),
  /** Downtime that the plan expected. */
  expectedFenceMs: z.number(),
  /** The planned mode, then the one that the agent applied; null for a box that is not updated. */
  fenceMode: FenceMode.nullable(),
  error: ActionError.nullable(),
})
export type RolloutAction = z.infer<typeof RolloutAction>

/** `durationMs` is null for the last step of an attempt that has not ended. */
export const AttemptStep = z.object({ step: z.string(), at: Timestamp, durationMs: z.number().nullable() })
export type AttemptStep = z.infer<typeof AttemptStep>

/** The evidence of one attempt: what ran before, what runs now, what proved it. */
export const RolloutAttempt = z.object({
  attempt: z.number().int(),
  /** An update, or a rollback by images or by snapshot. */
  kind: z.enum(['update', 'rollback-images', 'rollback-snapshot']),
  status: ActionStatus,
  startedAt: Timestamp,
  finishedAt: Timestamp.nullable(),
  snapshotId: z.string().nullable(),
  snapshotSha256: z.string().nullable(),
  /** Image per service before the attempt; a rollback by images returns to it. */
  imagesBefore: z.record(z.string(), z.string()),
  digestsBefore: z.record(z.string(), z.string().nullable()),
  digestsAfter: z.record(z.string(), z.string().nullable()),
  probes: z.array(ProbeResult),
  composeBackup: z.string().nullable(),
  /** Null where no database was restored, or the agent did not report how. */
  restored: RestoredDatabase.nullable(),
  /** The parts of the downtime, and the fence mode that the agent applied; null where it did not report them. */
  downtime: Downtime.nullable(),
  /** Whether a step failed after the box was changed, so that there are lines of the services that failed. */
  hasLogs: z.boolean(),
  /** These last lines, without secrets; null for viewers, and where there are none. Not part of the checksum. */
  logs: z.array(LogLine).nullable(),
  /** The reported steps in order: the start of each, and its duration until the next one or the end. */
  steps: z.array(AttemptStep),
  durationMs: z.number().nullable(),
  fencedMs: z.number().nullable(),
  report: VersionsReport.nullable(),
  error: ActionError.nullable(),
})
export type RolloutAttempt = z.infer<typeof RolloutAttempt>

type Whose = Readonly<{ rolloutId: string; tenantSlug: string }>

/**
 * The evidence of one attempt, bound to the audit chain: the entry of its end holds the checksum of this object. The fields are listed one by
 * one and must never change, or stored checksums no longer match. New fields need a new version: the second adds how the database was
 * restored, the third the downtime; each is used only where that is known.
 */
export function evidenceOf({ rolloutId, tenantSlug }: Whose, attempt: RolloutAttempt) {
  const { kind, status, startedAt, finishedAt, durationMs, fencedMs, error } = attempt
  const {
    imagesBefore,
    digestsBefore,
    digestsAfter,
    snapshotId,
    snapshotSha256,
    composeBackup,
    probes,
    steps,
    report,
    restored,
    downtime,
  } = attempt
  return {
    ...versioned(restored, downtime),
    rolloutId,
    tenantSlug,
    attempt: attempt.attempt,
    ...{ kind, status, startedAt, finishedAt, durationMs, fencedMs, error },
    ...{ imagesBefore, digestsBefore, digestsAfter, snapshotId, snapshotSha256, composeBackup, probes, steps, report },
  }
}

function versioned(restored: RolloutAttempt['restored'], downtime: RolloutAttempt['downtime']) {
  if (downtime !== null) return { version: 3 as const, restored, downtime }
  return restored === null ? { version: 1 as const } : { version: 2 as const, restored }
}

/** Passed on unchanged: the checksum covers every field. */
export const AttemptEvidence = z.looseObject({
  version: z.literal([1, 2, 3]),
  rolloutId: z.string(),
  tenantSlug: z.string(),
  attempt: z.int(),
  status: z.string(),
})
export type AttemptEvidence = z.infer<typeof AttemptEvidence>

/** One command of an attempt: its steps as first reported, and its end; null while unknown. */
type CommandSteps = Readonly<{ steps: readonly FirstReport[]; endedAt: string | null }>

/**
 * The steps of an attempt over all its commands: each lasts until the next one of its command, the last one until the end of the command. All
 * times are of the agent's clock; a negative duration (the clock was set back) counts as 0.
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
 * The end of a command by the clock of its agent, from its start and duration; null when the agent did not report the duration. The daemon's
 * clock is not used: two clocks that differ would make a short step long.
 */
export function endOfCommand(steps: readonly FirstReport[], durationMs: number | null): string | null {
  const begun = Date.parse(steps[0]?.at ?? '')
  return durationMs === null || Number.isNaN(begun) ? null : new Date(begun + durationMs).toISOString()
}
