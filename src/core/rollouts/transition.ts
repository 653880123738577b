import { problem } from '../kit/index.ts'
import type { Phase, RolloutKind, RolloutStatus } from './rollout.ts'

/** Phases of each kind in their order (spec 3.7). An emergency goes first where the service is promised. */
export const phaseOrder = {
  staged: ['canary', 'free_5', 'free_100', 'pro', 'enterprise'],
  emergency_cve: ['pro', 'enterprise', 'free_100'],
} as const satisfies Record<RolloutKind, readonly Phase[]>

/** The part of a rollout that moves change. */
export type RolloutState = Readonly<{
  kind: RolloutKind
  status: RolloutStatus
  previousStatus: RolloutStatus | null
  pauseReason: string | null
  error: string | null
  startedAt: string | null
  finishedAt: string | null
}>

/** What can be done to a rollout. `at` is the time it is done, ISO 8601. */
export type RolloutMove = Readonly<{ at: string }> &
  (
    | Readonly<{ type: 'start' }>
    | Readonly<{ type: 'advance' }>
    | Readonly<{ type: 'pause'; reason: string }>
    | Readonly<{ type: 'resume' }>
    | Readonly<{ type: 'fail'; error: string }>
    | Readonly<{ type: 'rollback'; reason: string }>
  )

type Standing = 'queued' | 'running' | 'paused' | 'over'

/** Which moves each standing allows; everything else is `InvalidTransition`. */
const allowed = {
  queued: ['start', 'fail'],
  running: ['advance', 'pause', 'fail', 'rollback'],
  paused: ['resume', 'fail', 'rollback'],
  over: [],
} as const satisfies Record<Standing, readonly RolloutMove['type'][]>

export const isOver = (status: RolloutStatus): boolean => status === 'done' || status === 'failed' || status === 'rolled_back'

/** The phase that a rollout is in, when it is running; the phases of the other kind are not its own. */
export function phaseOf({ kind, status }: Pick<RolloutState, 'kind' | 'status'>): Phase | undefined {
  const phases: readonly Phase[] = phaseOrder[kind]
  return phases.find((phase) => phase === status)
}

function standing(rollout: RolloutState): Standing {
  if (rollout.status === 'queued' || rollout.status === 'paused') return rollout.status
  return phaseOf(rollout) ? 'running' : 'over'
}

/** Makes a move, or throws INVALID_TRANSITION (the spec's `InvalidTransition`). Pure; the caller stores what comes back. */
export function transition<State extends RolloutState>(rollout: State, move: RolloutMove): State {
  const moves: readonly string[] = allowed[standing(rollout)]
  if (!moves.includes(move.type)) throw invalidTransition(rollout.status, move.type, moves)
  return { ...rollout, ...changes(rollout, move) }
}

function changes(rollout: RolloutState, move: RolloutMove): Partial<RolloutState> {
  const [first] = phaseOrder[rollout.kind]
  switch (move.type) {
    case 'start':
      return { status: first, startedAt: move.at }
    case 'advance':
      return advance(rollout, move.at)
    case 'pause':
      return { status: 'paused', previousStatus: rollout.status, pauseReason: move.reason }
    case 'resume':
      return { status: rollout.previousStatus ?? first, ...unpaused }
    case 'fail':
      return { status: 'failed', error: move.error, finishedAt: move.at, ...unpaused }
    case 'rollback':
      return { status: 'rolled_back', error: move.reason, finishedAt: move.at, ...unpaused }
  }
}

const unpaused = { previousStatus: null, pauseReason: null }

function advance({ kind, status }: RolloutState, at: string): Partial<RolloutState> {
  const phases: readonly RolloutStatus[] = phaseOrder[kind]
  const next = phases[phases.indexOf(status) + 1]
  return next ? { status: next } : { status: 'done', finishedAt: at }
}

const invalidTransition = (status: RolloutStatus, move: string, moves: readonly string[]) =>
  problem(
    'INVALID_TRANSITION',
    moves.length === 0
      ? `the rollout is over (${status}): nothing can be done to it any more, make a new one`
      : `"${typed(move)}" is not possible while the rollout is ${status}; possible now: ${moves.filter(isForPeople).map(typed).join(', ')}`,
  )

/** What people type and call for a move: its name, but for one. */
const typed = (move: string): string => (move === 'fail' ? 'abort' : move)
/** The engine alone goes to the next phase. */
const isForPeople = (move: string): boolean => move !== 'advance'
