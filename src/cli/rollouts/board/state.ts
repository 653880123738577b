import type { Rollout, RolloutDetail, RolloutEvent, RolloutPlan } from '../../../core/rollouts/index.ts'
import { goesBack, hasEnded } from '../words.ts'
import { allBoxes, type Boxes, boxesOf, withBox } from './boxes.ts'

/** What is known of a rollout that is followed: its record, its plan, its boxes, and whether the stream is up. */
export type BoardState = Readonly<{
  rollout: Rollout
  plan: RolloutPlan
  actions: Boxes
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
  actions: boxesOf(actions),
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

function withAction(actions: Boxes, { action, progress }: RolloutEvent): Boxes {
  return action ? withBox(actions, progress ? { ...action, progress } : action) : actions
}

/** It has ended, and nothing of it goes on. */
export const isOver = ({ rollout: { status }, actions }: BoardState): boolean => hasEnded(status) && !goesBack(allBoxes(actions))

/** Now, by the daemon's clock. */
export const daemonNowMs = ({ skewMs }: BoardState, nowMs: number): number => nowMs + (skewMs ?? 0)
