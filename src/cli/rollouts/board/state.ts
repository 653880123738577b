import type { Rollout, RolloutAction, RolloutDetail, RolloutEvent, RolloutPlan } from '../../../core/rollouts/index.ts'
import { hasEnded } from '../words.ts'

/** What is known of a rollout that is followed: its record, its plan, its boxes, and whether the stream is up. */
export type BoardState = Readonly<{
  rollout: Rollout
  plan: RolloutPlan
  actions: ReadonlyMap<string, RolloutAction>
  /** The daemon's clock minus ours, as far as events tell; its times are what elapsed times are measured against. */
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
  actions: new Map(actions.map((action) => [action.tenantSlug, action])),
  skewMs: undefined,
  connected: true,
})

/** The state after a message. Pure: board and plain lines both stand on it. */
export function reduce(state: BoardState, message: BoardMessage): BoardState {
  if (message.kind === 'lost') return { ...state, connected: false }
  if (message.kind === 'connected') return { ...state, connected: true }
  const { event, receivedAtMs } = message
  return {
    ...state,
    connected: true,
    rollout: afterEvent(state.rollout, event),
    actions: withAction(state.actions, event),
    // An event that was replayed is late, never early: the largest difference is the nearest to the truth.
    skewMs: Math.max(state.skewMs ?? Number.NEGATIVE_INFINITY, Date.parse(event.at) - receivedAtMs),
  }
}

function afterEvent(rollout: Rollout, { type, status, previousStatus, reason, at }: RolloutEvent): Rollout {
  const ended = hasEnded(status)
  return {
    ...rollout,
    status,
    previousStatus,
    pauseReason: status === 'paused' ? (reason ?? rollout.pauseReason) : null,
    error: ended && status !== 'done' ? (reason ?? rollout.error) : null,
    startedAt: rollout.startedAt ?? (type === 'rollout.started' ? at : null),
    finishedAt: ended ? (rollout.finishedAt ?? at) : null,
  }
}

function withAction(actions: BoardState['actions'], { action, progress }: RolloutEvent): BoardState['actions'] {
  if (!action) return actions
  return new Map(actions).set(action.tenantSlug, progress ? { ...action, progress } : action)
}

/** Now, by the daemon's clock. */
export const daemonNowMs = ({ skewMs }: BoardState, nowMs: number): number => nowMs + (skewMs ?? 0)
