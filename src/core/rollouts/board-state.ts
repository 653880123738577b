import type { RolloutAction } from './action.ts'
import type { RolloutDetail } from './contract.ts'
import { isOver } from './phases.ts'
import type { RolloutPlan } from './plan.ts'
import type { Rollout } from './rollout.ts'
import type { RolloutEvent } from './rollout-event.ts'
import { isRollingBackBoxes } from './words.ts'

/** The state of a followed rollout: record, plan, boxes and connection. */
export type BoardState = Readonly<{
  rollout: Rollout
  plan: RolloutPlan
  actions: Boxes
  /** The daemon's clock minus ours, estimated from events. Elapsed times use the daemon's clock. */
  skewMs: number | undefined
  connected: boolean
}>

export type BoardMessage =
  | Readonly<{ kind: 'event'; event: RolloutEvent; receivedAtMs: number }>
  | Readonly<{ kind: 'lost' }>
  | Readonly<{ kind: 'connected' }>

export const openBoard = ({ plan, actions, ...rollout }: RolloutDetail): BoardState => ({
  rollout,
  plan,
  actions: boxesOf(actions),
  skewMs: undefined,
  connected: true,
})

/** The state after a message; shared by the board and the plain lines. */
export function reduce(state: BoardState, message: BoardMessage): BoardState {
  if (message.kind === 'lost') return { ...state, connected: false }
  if (message.kind === 'connected') return { ...state, connected: true }
  const { event, receivedAtMs } = message
  return {
    ...state,
    connected: true,
    rollout: afterEvent(state.rollout, event),
    actions: withAction(state.actions, event),
    // A replayed event is late, never early, so the largest difference is the best estimate.
    skewMs: Math.max(state.skewMs ?? Number.NEGATIVE_INFINITY, Date.parse(event.at) - receivedAtMs),
  }
}

function afterEvent(rollout: Rollout, { type, status, previousStatus, bakeUntil = null, gates = null, reason, at }: RolloutEvent): Rollout {
  const ended = isOver(status)
  return {
    ...rollout,
    status,
    previousStatus,
    bakeUntil,
    gates: gates ?? rollout.gates,
    pauseReason: status === 'paused' ? (reason ?? rollout.pauseReason) : null,
    error: ended ? (reason ?? rollout.error) : null,
    startedAt: rollout.startedAt ?? (type === 'rollout.started' ? at : null),
    finishedAt: ended ? (rollout.finishedAt ?? at) : null,
  }
}

function withAction(actions: Boxes, { action, progress }: RolloutEvent): Boxes {
  return action ? new Map(actions).set(action.tenantSlug, progress ? { ...action, progress } : action) : actions
}

/** Finished, and no box is still rolling back. */
export const isBoardOver = ({ rollout: { status }, actions }: BoardState): boolean =>
  isOver(status) && !isRollingBackBoxes(allBoxes(actions))

/** The current time of the daemon's clock. */
export const daemonNowMs = ({ skewMs }: BoardState, nowMs: number): number => nowMs + (skewMs ?? 0)

/** All boxes of a rollout by slug, in the order of the rollout. */
type Boxes = ReadonlyMap<string, RolloutAction>

export const boxesOf = (actions: readonly RolloutAction[]): Boxes => new Map(actions.map((action) => [action.tenantSlug, action]))

export const boxOf = (actions: Boxes, slug: string): RolloutAction | undefined => actions.get(slug)

export const allBoxes = (actions: Boxes): RolloutAction[] => [...actions.values()]
