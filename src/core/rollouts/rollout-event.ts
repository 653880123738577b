import { z } from 'zod'
import { Progress } from '../boxes/index.ts'
import { Timestamp } from '../contract/index.ts'
import { RolloutAction } from './action.ts'
import { GateState } from './gate.ts'
import { RolloutId, RolloutStatus } from './rollout.ts'

export const RolloutEventType = z.enum([
  'rollout.created',
  'rollout.started',
  'rollout.phase',
  'rollout.baking',
  'rollout.gates',
  'rollout.paused',
  'rollout.resumed',
  'rollout.action',
  'rollout.done',
  'rollout.failed',
  'rollout.rolled_back',
])
export type RolloutEventType = z.infer<typeof RolloutEventType>

/** One event. `action` is the whole record after it. */
export const RolloutEvent = z.object({
  type: RolloutEventType,
  at: Timestamp,
  rolloutId: RolloutId,
  status: RolloutStatus,
  previousStatus: RolloutStatus.nullable(),
  /** Until then the complete phase is watched. */
  bakeUntil: Timestamp.nullable(),
  /** The gates where the event changes them; null in every other. */
  gates: z.array(GateState).nullable(),
  /** Why it paused or ended. */
  reason: z.string().nullable(),
  action: RolloutAction.nullable(),
  progress: Progress.nullable(),
})
export type RolloutEvent = z.infer<typeof RolloutEvent>
