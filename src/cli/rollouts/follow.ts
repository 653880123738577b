import { followStream } from '../../core/contract/index.ts'
import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import { type BoardMessage, type BoardState, openBoard, type Rollout, type RolloutDetail, reduce } from '../../core/rollouts/index.ts'
import { type Context, flag, type Style, sections } from '../kit/index.ts'
import { exitOfRollout } from './exit.ts'

import { planView } from './plan.ts'
import { rolloutView } from './rollout.view.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal' | 'url'>

/** Receives the first state, then each message with the state before and after it. */
export type Follower = Readonly<{
  opened: (state: BoardState) => void
  changed: (before: BoardState, message: BoardMessage, after: BoardState) => void
  /** Stop following in this state. */
  until: (state: BoardState) => boolean
}>

/** How long to wait for a daemon that does not answer. */
const maxSilenceMs = 15 * 60_000

/** Follows a rollout from its current state. */
export async function follow(deps: Deps, id: string, { opened, changed, until }: Follower): Promise<BoardState> {
  const { api, clock, signal } = deps
  const detail = await api.rollouts.getRollout({ params: { id } }, { signal })
  let state = openBoard(detail)
  let lastContactMs = clock.monotonicMs()
  opened(state)
  const publish = (message: BoardMessage) => {
    const before = state
    state = reduce(state, message)
    changed(before, message, state)
  }
  await followStream(
    { sleep: clock.sleep, signal, pauses: { firstMs: 250, maxMs: 5000 } },
    {
      open: (lastEventId) => api.rollouts.rolloutEvents({ params: { id } }, { signal, lastEventId }),
      lastEventId: detail.lastEventId,
      onOpened: () => {
        lastContactMs = clock.monotonicMs()
        publish({ kind: 'connected' })
      },
      onMessage: ({ data }) => publish({ kind: 'event', event: data, receivedAtMs: clock.now().getTime() }),
      onLost: ({ wasOpen, error }) => {
        if (isProblem(error) && !error.retryable) throw error
        // A stream that ends is reopened silently; only a failed connection is reported.
        if (wasOpen) lastContactMs = clock.monotonicMs()
        else publish({ kind: 'lost' })
        if (clock.monotonicMs() - lastContactMs > maxSilenceMs)
          throw problem('UNREACHABLE', `${deps.url} has not answered for 15 minutes; the rollout may still be running`)
      },
      isOver: () => until(state),
    },
  )
  signal.throwIfAborted()
  return state
}

/** Also of `watch`. */
export const allowSkipped = flag('--allow-skipped', 'exit 0 instead of 9 if the rollout skipped boxes')

/** Options of every command that starts or continues a rollout. */
export const followOptions = {
  watch: flag('--watch', 'watch it live'),
  wait: flag('--wait', 'wait for the result (exit 7: aborted or rolled back, 8: paused, 9: boxes skipped)'),
  allowSkipped,
}

/** Nothing after watching; a queued rollout with its plan; all else with its next commands. */
export function resultView(rollout: Rollout | RolloutDetail, style: Style, { watch }: Pick<How, 'watch'>): string {
  if (watch) return ''
  if (rollout.status !== 'queued' || !('plan' in rollout)) return rolloutView(rollout, style)
  return sections(planView(rollout.plan, style), rolloutView({ ...rollout, actions: [] }, style))
}

export const resultExit = (rollout: Rollout, { watch, wait, allowSkipped }: How & Readonly<{ allowSkipped: boolean }>): ExitCode =>
  watch || wait ? exitOfRollout(rollout, { allowSkipped }) : 0

export type How = Readonly<{ watch: boolean; wait: boolean }>
