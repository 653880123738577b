import { z } from 'zod'
import { admin, type Contract, endpoint, Paging, Timestamp } from '../contract/index.ts'
import { AttemptEvidence, RollbackMode, RolloutAction } from './action.ts'

import { Phase, RolloutId, RolloutSummary } from './rollout.ts'

/** One thing that somebody or the engine did, from the rollout's audit chain. */
export const TimelineEntry = z.object({
  at: Timestamp,
  actor: z.string(),
  /** `rollout.created`, `rollout.started`, `rollout.phase`, `rollout.paused`, … */
  action: z.string(),
  /** The phase that it led to, or in which it happened. */
  phase: Phase.nullable(),
  reason: z.string().nullable(),
  /** What was to become of its updated boxes, of one that was rolled back; absent otherwise, and from daemons that did not say it. */
  boxes: z.enum(['none', ...RollbackMode.options]).optional(),
  /** Boxes whose turn never came, because it was ended; absent where there were none. */
  cancelled: z.number().int().optional(),
})
export type TimelineEntry = z.infer<typeof TimelineEntry>

const PhaseSpan = z.object({
  phase: Phase,
  startedAt: Timestamp,
  endedAt: Timestamp.nullable(),
  /** Until now while it runs; pauses are in it. */
  durationMs: z.number(),
  pausedMs: z.number(),
  boxes: z.number().int(),
  succeeded: z.number().int(),
  failed: z.number().int(),
})
export type PhaseSpan = z.infer<typeof PhaseSpan>

const Pause = z.object({
  at: Timestamp,
  /** Who or what paused it, and who let it go on, or ended it. */
  by: z.string(),
  reason: z.string(),
  phase: Phase.nullable(),
  until: Timestamp.nullable(),
  endedBy: z.string().nullable(),
  durationMs: z.number(),
})
export type Pause = z.infer<typeof Pause>

/** Of several boxes: the middle and the worst, and which one that was. */
const Spread = z.object({ boxes: z.number().int(), medianMs: z.number(), worstMs: z.number(), worstSlug: z.string() })
export type Spread = z.infer<typeof Spread>

const StepSpread = Spread.extend({ step: z.string() })
export type StepSpread = z.infer<typeof StepSpread>

const RollbackSpan = z.object({
  /** When the rollout was rolled back: its boxes were asked for then. */
  startedAt: Timestamp,
  /** When the last of them was through; null while there are some to come, or on their way. */
  endedAt: Timestamp.nullable(),
  /** Until now while it goes on, or stands still until a person decides. */
  durationMs: z.number(),
  /** How long single boxes took from their turn to their end, all attempts of a box together; null until the first is through. */
  boxes: Spread.nullable(),
})
export type RollbackSpan = z.infer<typeof RollbackSpan>

/** What became of a rollout: its story, what it cost the tenants, and where the time went. */
export const RolloutReport = z.object({
  rollout: RolloutSummary,
  madeAt: Timestamp,
  /** From its start to its end, or until now. */
  durationMs: z.number().nullable(),
  pausedMs: z.number(),
  /** How long chats answered 503, all boxes together, and per box. */
  fence: Spread.extend({ sumMs: z.number() }).nullable(),
  /** How long the way back of its boxes took; null where none of them went back. */
  undo: RollbackSpan.nullable(),
  timeline: z.array(TimelineEntry),
  phases: z.array(PhaseSpan),
  pauses: z.array(Pause),
  /** How long each step of the agents took, in the order in which they come. */
  steps: z.array(StepSpread),
  /** The boxes that matter most, at most two hundred: failures first, then those under way, then what took longest. */
  boxes: z.array(RolloutAction),
  boxesTotal: z.number().int(),
})
export type RolloutReport = z.infer<typeof RolloutReport>

const one = z.strictObject({ id: RolloutId })
const base = '/admin/tenant-boxes/rollouts'

/** What a rollout leaves behind when it is over: its story, and what proves it. */
export const proofContract = {
  reportRollout: endpoint({
    method: 'GET',
    path: `${base}/:id/report`,
    auth: admin('viewer'),
    params: one,
    returns: RolloutReport,
    summary: 'What became of a rollout: timeline, phases, pauses, fences, steps, and the boxes that matter most',
  }),
  listEvidence: endpoint({
    method: 'GET',
    path: `${base}/:id/evidence`,
    auth: admin('viewer'),
    params: one,
    query: Paging,
    returns: z.object({ evidence: z.array(AttemptEvidence), nextCursor: z.string().nullable() }),
    summary: 'What each attempt that ended left behind, as the audit chain names it by its sum',
  }),
} as const satisfies Contract
