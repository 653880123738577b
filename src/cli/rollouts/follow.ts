import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import type { Rollout, RolloutDetail } from '../../core/rollouts/index.ts'
import { type Context, flag, type Output, type Style, sections } from '../kit/index.ts'
import { closingLines, linesOf, openingLines } from './board/lines.ts'
import { type BoardMessage, type BoardState, isOver, openBoard, reduce } from './board/state.ts'

import { planView } from './plan.ts'
import { rolloutView } from './rollout.view.ts'
import { exitOfRollout } from './words.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal' | 'url'>

/** Who watches: is told the first state, then each message with the state before and after it. */
type Follower = Readonly<{
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

/** Options of every command that sets a rollout going. */
export const followOptions = {
  watch: flag('--watch', 'show it live until it ends or pauses'),
  wait: flag('--wait', 'wait for its end: progress on stderr, the result on stdout; exit 7 when it failed, 8 when it paused'),
}
type How = Readonly<{ watch: boolean; wait: boolean }>

/** Leaves it alone, waits for it, or shows it, as asked; then answers it as it is. */
export async function followed(context: Context, rollout: Rollout | RolloutDetail, { watch, wait }: How): Promise<Rollout | RolloutDetail> {
  if (!watch && !wait) return rollout
  if (watch && wait) throw problem('USAGE', 'give --watch or --wait, not both')
  return watch ? watched(context, rollout.id) : waited(context, rollout.id, context.stderr)
}

/** The board on a terminal, plain lines elsewhere. With --json stdout belongs to the result, so the lines go to stderr. */
export async function watched(context: Context, id: string): Promise<RolloutDetail> {
  if (context.json) return waited(context, id, context.stderr)
  if (!context.live) return waited(context, id, context.stdout, closingLines)
  const { showBoard } = await import('./board/show-board.tsx')
  await showBoard(context, id)
  return context.api.rollouts.getRollout({ params: { id } })
}

async function waited(
  context: Context,
  id: string,
  output: Output,
  closing: (state: BoardState) => string[] = () => [],
): Promise<RolloutDetail> {
  const state = await follow(context, id, lineWriter(output))
  for (const line of closing(state)) output.write(`${line}\n`)
  return context.api.rollouts.getRollout({ params: { id } })
}

const lineWriter = (output: Output): Follower => {
  const writeAll = (lines: readonly string[]) => {
    for (const line of lines) output.write(`${line}\n`)
  }
  return {
    opened: (state) => writeAll(openingLines(state)),
    changed: (before, message, after) => writeAll(linesOf(before, message, after)),
    until: (state) => isOver(state) || state.rollout.status === 'paused',
  }
}

/** Who watched has seen it all. What has not begun is shown as what it would do, then what to type. */
export function followedView(rollout: Rollout | RolloutDetail, style: Style, { watch }: Pick<How, 'watch'>): string {
  if (watch) return ''
  if (rollout.status !== 'queued' || !('plan' in rollout)) return rolloutView(rollout, style)
  return sections(planView(rollout.plan, style), rolloutView({ ...rollout, actions: [] }, style))
}

export const followedExit = (rollout: Rollout, { watch, wait }: How): ExitCode => (watch || wait ? exitOfRollout(rollout) : 0)
