import {
  actionTint,
  outcomeTint,
  type PhaseState,
  type RolloutAction,
  type RolloutSummary,
  stateTint,
  type Tint,
} from '../../core/rollouts/index.ts'
import type { Tone } from '../kit/index.ts'

export const toneOfTint = { green: 'ok', red: 'failed', cyan: 'working', yellow: 'warning', dim: 'off' } as const satisfies Record<
  Tint,
  Tone
>

/** A paused rollout wants an operator, as a failure does. */
export const rolloutTone = (rollout: Pick<RolloutSummary, 'status' | 'counts'>): Tone =>
  rollout.status === 'paused' ? 'failed' : rollout.status === 'queued' ? 'waiting' : toneOfTint[stateTint(rollout)]

/** The tone of an unfinished rollout by its status alone. */
export const statusTone = (status: RolloutSummary['status']): Tone =>
  status === 'paused' ? 'failed' : status === 'queued' ? 'waiting' : 'working'

export const outcomeTone = (action: Pick<RolloutAction, 'status' | 'rollback'>): Tone => toneOfTint[outcomeTint(action)]

export const attemptTone = (status: RolloutAction['status']): Tone => toneOfTint[actionTint(status)]

export const phaseTones = {
  done: 'ok',
  running: 'working',
  paused: 'failed',
  failed: 'failed',
  waiting: 'off',
  empty: 'off',
  'rolling back': 'warning',
  'rolled back': 'failed',
} as const satisfies Record<PhaseState, Tone>
