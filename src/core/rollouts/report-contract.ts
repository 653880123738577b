import { z } from 'zod'
import { Slug } from '../boxes/index.ts'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { AttemptEvidence, RollbackMode, RolloutAction, RolloutAttempt } from './action.ts'
import { Phase, Rollout, RolloutId, RolloutSummary, StillAsked } from './rollout.ts'

/** One audit entry about the rollout. */
export const TimelineEntry = z.object({
  at: Timestamp,
  actor: z.string(),
  /** `rollout.created`, `rollout.started`, `rollout.phase`, `rollout.paused`, … */
  action: z.string(),
  /** The phase that it began, or in which it happened. */
  phase: Phase.nullable(),
  reason: z.string().nullable(),
  /** Rollback only: how updated boxes are rolled back. */
  boxes: z.enum(['none', ...RollbackMode.options]).optional(),
  /** Boxes that were cancelled at the end of the rollout; absent where there were none. */
  cancelled: z.number().int().optional(),
})
export type TimelineEntry = z.infer<typeof TimelineEntry>

const PhaseSpan = z.object({
  phase: Phase,
  startedAt: Timestamp,
  endedAt: Timestamp.nullable(),
  /** Until now while it runs, with its pauses. */
  durationMs: z.number(),
  pausedMs: z.number(),
  boxes: z.number().int(),
  succeeded: z.number().int(),
  failed: z.number().int(),
})
export type PhaseSpan = z.infer<typeof PhaseSpan>

const Pause = z.object({
  at: Timestamp,
  /** The actor that paused it. */
  by: z.string(),
  reason: z.string(),
  phase: Phase.nullable(),
  until: Timestamp.nullable(),
  endedBy: z.string().nullable(),
  durationMs: z.number(),
})
export type Pause = z.infer<typeof Pause>

/** Median and maximum of several boxes, and the box with the maximum. */
const Spread = z.object({ boxes: z.number().int(), medianMs: z.number(), worstMs: z.number(), worstSlug: z.string() })
export type Spread = z.infer<typeof Spread>

const StepSpread = Spread.extend({ step: z.string() })
export type StepSpread = z.infer<typeof StepSpread>

const RollbackSpan = z.object({
  /** When the rollback was requested. */
  startedAt: Timestamp,
  /** When the last box ended; null while some are pending or running. */
  endedAt: Timestamp.nullable(),
  /** Until now while it runs or is stalled. */
  durationMs: z.number(),
  /** Duration per box, all its attempts together; null until the first box ends. */
  boxes: Spread.nullable(),
})
export type RollbackSpan = z.infer<typeof RollbackSpan>

/** The report of a rollout: timeline, downtime, and durations. */
export const RolloutReport = z.object({
  rollout: RolloutSummary,
  madeAt: Timestamp,
  /** From its start to its end, or until now. */
  durationMs: z.number().nullable(),
  pausedMs: z.number(),
  /** Downtime: how long chats answered 503, in all and per box. */
  fence: Spread.extend({
    sumMs: z.number(),
    /** The median that the plan expected of these boxes. */
    expectedMedianMs: z.number(),
  }).nullable(),
  /** Duration of the rollback of boxes; null without one. */
  rollback: RollbackSpan.nullable(),
  /** Null while the manifest asks for none of the versions that boxes were rolled back from. */
  stillAsked: StillAsked.nullable(),
  gates: Rollout.shape.gates,
  timeline: z.array(TimelineEntry),
  phases: z.array(PhaseSpan),
  pauses: z.array(Pause),
  /** Duration of each step of the agents, in order. */
  steps: z.array(StepSpread),
  /** At most two hundred boxes: failures first, then those in flight, then the longest updates. */
  boxes: z.array(RolloutAction),
  boxesTotal: z.number().int(),
})
export type RolloutReport = z.infer<typeof RolloutReport>

const one = z.strictObject({ id: RolloutId })
const base = '/admin/tenant-boxes/rollouts'

/** One attempt of a rollout on a box. */
export const BoxUpdate = RolloutAttempt.pick({
  ...{ kind: true, attempt: true, status: true, startedAt: true, finishedAt: true, durationMs: true, error: true },
}).extend(RolloutAction.pick({ rolloutId: true, from: true, to: true }).shape)
export type BoxUpdate = z.infer<typeof BoxUpdate>

/** The report of a rollout and the evidence of its attempts. */
export const proofContract = {
  listBoxUpdates: endpoint({
    method: 'GET',
    path: '/api/admin/v1/boxes/:slug/updates',
    auth: admin('viewer'),
    params: z.object({ slug: Slug }),
    returns: z.object({ updates: z.array(BoxUpdate) }),
    summary: 'List the newest 50 updates and rollbacks of a box by rollouts, newest first',
  }),
  reportRollout: endpoint({
    method: 'GET',
    path: `${base}/:id/report`,
    auth: admin('viewer'),
    cost: 'export',
    params: one,
    returns: RolloutReport,
    summary: 'Report a rollout: timeline, phases, pauses, downtime, steps and the most relevant boxes',
  }),
  listEvidence: endpoint({
    method: 'GET',
    path: `${base}/:id/evidence`,
    auth: admin('viewer'),
    params: one,
    query: Paging,
    returns: z.object({ evidence: z.array(AttemptEvidence), nextCursor: z.string().nullable() }),
    summary: 'List the evidence of ended attempts; the audit chain holds its checksums',
  }),
} as const satisfies Contract
