import { isProblem, problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'
import { type BoardMessage, type BoardState, openBoard, reduce } from './board/state.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal' | 'url'>

/** Who watches: is told the first state, then each message with the state before and after it. */
export type Follower = Readonly<{
  opened: (state: BoardState) => void
  changed: (before: BoardState, message: BoardMessage, after: BoardState) => void
  /** Enough was seen. */
  until: (state: BoardState) => boolean
}>

/** A daemon that restarts is waited for this long; then it counts as gone. */
const patienceMs = 15 * 60_000
const longestPauseMs = 5000

/** Follows a rollout from where it stands, across lost connections, each event once (`Last-Event-ID`). */
export async function follow(deps: Deps, id: string, { opened, changed, until }: Follower): Promise<BoardState> {
  const { api, clock, signal } = deps
  const detail = await api.rollouts.getRollout({ params: { id } }, { signal })
  let state = openBoard(detail)
  let { lastEventId } = detail
  let heardAt = clock.monotonicMs()
  let pauseMs = 250
  opened(state)
  const tell = (message: BoardMessage) => {
    const before = state
    state = reduce(state, message)
    changed(before, message, state)
  }
  while (!until(state)) {
    let open = false
    try {
      const events = await api.rollouts.rolloutEvents({ params: { id } }, { signal, lastEventId })
      heardAt = clock.monotonicMs()
      pauseMs = 250
      open = true
      tell({ kind: 'connected' })
      for await (const { id: eventId, data } of events) {
        lastEventId = eventId ?? lastEventId
        tell({ kind: 'event', event: data, receivedAtMs: clock.now().getTime() })
        if (until(state)) return state
      }
    } catch (error) {
      if (signal.aborted || (isProblem(error) && !error.retryable)) throw error
    }
    // A stream that ends is only taken up again, however long it lasted; who cannot be reached is worth telling.
    if (open) heardAt = clock.monotonicMs()
    else tell({ kind: 'lost' })
    if (clock.monotonicMs() - heardAt > patienceMs)
      throw problem('UNREACHABLE', `${deps.url} has been away for a quarter of an hour; the rollout may go on without it being seen`)
    await clock.sleep(pauseMs, signal)
    signal.throwIfAborted()
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
  return state
}
