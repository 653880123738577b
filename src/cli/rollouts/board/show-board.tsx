import { type Instance, render } from 'ink'
import type { ReactNode } from 'react'
import { Keys, keptScrollback, whenResized } from '../../board/index.ts'
import type { Context } from '../../kit/index.ts'
import { follow } from '../follow.ts'
import { boardModel } from './model.ts'
import { Screen } from './screen.tsx'
import { type BoardState, isOver } from './state.ts'

/** Redraws are at least this far apart. */
const frameMs = 250
/** A board over thousands of boxes takes its time to draw: the longer it takes, the longer it then rests, so that it never eats a machine. */
const [restsTimes, longestRestMs] = [30, 5000]

/** Shows a rollout on the terminal until it ended or the person leaves with q or Ctrl-C; the last screen stays. */
export async function showBoard(context: Context, id: string): Promise<void> {
  const left = new AbortController()
  const canRead = process.stdin.isTTY === true // keys come from a terminal only
  const signal = AbortSignal.any([context.signal, left.signal])
  const board: { state?: BoardState; instance?: Instance; stopped?: () => void; stale: boolean; ended: boolean } = {
    stale: false,
    ended: false,
  }
  const following = follow({ ...context, signal }, id, {
    opened: (state) => Object.assign(board, { state, stale: true }),
    changed: (_, __, state) => Object.assign(board, { state, stale: true }),
    until: isOver,
  }).finally(() => {
    board.ended = true
  })
  const draw = (keys: boolean) => {
    if (!board.state) return
    const tree = <Keys active={keys && canRead} leave={() => left.abort()} screen={screenOf(context, board.state, keys && canRead)} />
    if (board.instance) return board.instance.rerender(tree)
    board.instance = render(tree, { stdout: keptScrollback(process.stdout), exitOnCtrlC: false, patchConsole: false })
    board.stopped = whenResized(process.stdout, () => draw(true))
  }
  const drawing = redraw(context, board, () => draw(true))
  try {
    await following
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await drawing
    board.stopped?.()
    draw(false)
    board.instance?.unmount()
    await board.instance?.waitUntilExit()
  }
}

/** Draws what changed, and once a second what time alone changes. */
async function redraw({ clock }: Context, board: { stale: boolean; ended: boolean }, draw: () => void): Promise<void> {
  let [drawnAt, restMs] = [Number.NEGATIVE_INFINITY, 0]
  while (!board.ended) {
    const sinceMs = clock.monotonicMs() - drawnAt
    if (sinceMs >= restMs && (board.stale || sinceMs >= 1000)) {
      board.stale = false
      drawnAt = clock.monotonicMs()
      draw()
      restMs = Math.min(longestRestMs, (clock.monotonicMs() - drawnAt) * restsTimes)
    }
    await clock.sleep(frameMs)
  }
}

const screenOf = ({ clock, stdout, style }: Context, state: BoardState, keys: boolean): ReactNode => (
  <Screen
    model={boardModel(state, clock.now().getTime())}
    size={{ columns: stdout.columns || 80, rows: stdout.rows || 24 }}
    colour={style().colour}
    keys={keys}
  />
)
