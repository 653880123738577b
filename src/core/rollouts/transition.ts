import { problem } from '../kit/index.ts'
import { unaskedGates } from './gates.ts'
import { phaseOf, phaseOrder } from './phases.ts'
import type { RolloutState, RolloutStatus } from './rollout.ts'

/** Answers the rollout after the transition; the caller stores it. Throws INVALID_TRANSITION (the spec's `InvalidTransition`). */
export function transition<State extends RolloutState>(rollout: State, move: RolloutMove): State {
  const moves: readonly string[] = allowed[stageOf(rollout)]
  if (!moves.includes(move.type)) throw invalidTransition(rollout.status, move.type, moves)
  return { ...rollout, ...changes(rollout, move) }
}

function changes(rollout: RolloutState, move: RolloutMove): Partial<RolloutState> {
  const [first] = phaseOrder[rollout.kind]
  switch (move.type) {
    case 'start':
      return { status: first, startedAt: move.at }
    case 'bake':
      return { bakeUntil: move.until, ...unasked(rollout) }
    case 'advance':
      return { ...advance(rollout, move.at), bakeUntil: null, ...unasked(rollout) }
    case 'pause':
      return { status: 'paused', previousStatus: rollout.status, pauseReason: move.reason }
    case 'resume':
      return { status: rollout.previousStatus ?? first, ...unpaused, ...unasked(rollout) }
    case 'fail':
      return { status: 'failed', error: move.error, finishedAt: move.at, ...unpaused }
    case 'rollback':
      return { status: 'rolled_back', error: move.reason, finishedAt: move.at, ...unpaused }
  }
}

/** Gates are asked again in each phase, and after each pause. */
const unasked = ({ gates }: RolloutState): Pick<RolloutState, 'gates'> => ({ gates: unaskedGates(gates) })

function advance({ kind, status }: RolloutState, at: string): Partial<RolloutState> {
  const phases: readonly RolloutStatus[] = phaseOrder[kind]
  const next = phases[phases.indexOf(status) + 1]
  return next ? { status: next } : { status: 'done', finishedAt: at }
}

const invalidTransition = (status: RolloutStatus, move: string, moves: readonly string[]) =>
  problem(
    'INVALID_TRANSITION',
    moves.length === 0
      ? `the rollout is finished (${endWord(status)}). fix: create a new rollout instead`
      : `cannot ${commandOf(move)} a rollout that is ${status}; possible now: ${moves.filter(isForPeople).map(commandOf).join(', ')}`,
  )

/** A transition. `at` is its time, ISO 8601. */
export type RolloutMove = Readonly<{ at: string }> &
  (
    | Readonly<{ type: 'start' }>
    | Readonly<{ type: 'bake'; until: string }>
    | Readonly<{ type: 'advance' }>
    | Readonly<{ type: 'pause'; reason: string }>
    | Readonly<{ type: 'resume' }>
    | Readonly<{ type: 'fail'; error: string }>
    | Readonly<{ type: 'rollback'; reason: string }>
  )

/** The transitions that each stage allows; all others are `InvalidTransition`. */
const allowed = {
  queued: ['start', 'fail'],
  running: ['bake', 'advance', 'pause', 'fail', 'rollback'],
  paused: ['resume', 'fail', 'rollback'],
  over: [],
} as const satisfies Record<Stage, readonly RolloutMove['type'][]>

type Stage = 'queued' | 'running' | 'paused' | 'over'

function stageOf(rollout: RolloutState): Stage {
  if (rollout.status === 'queued' || rollout.status === 'paused') return rollout.status
  return phaseOf(rollout) ? 'running' : 'over'
}

/** A bake that a pause interrupted starts again. */
const unpaused = { previousStatus: null, pauseReason: null, bakeUntil: null }

/** As every view shows it: only an abort ends a rollout as `failed`. */
const endWord = (status: RolloutStatus): string => (status === 'failed' ? 'aborted' : status.replaceAll('_', ' '))

/** The command for a transition. */
const commandOf = (move: string): string => (move === 'fail' ? 'abort' : move)

/** Only the engine watches and advances a rollout. */
const isForPeople = (move: string): boolean => move !== 'advance' && move !== 'bake'
