import type { ReactNode } from 'react'
import { type BoardState, isBoardOver } from '../../../core/rollouts/index.ts'
import { openLiveScreen } from '../../board/index.ts'
import type { Context } from '../../kit/index.ts'
import { follow } from '../follow.ts'
import { addressedBoard } from './addressed-board.ts'
import { Screen } from './screen.tsx'

/** Minimum time between redraws. */
const frameMs = 250
/** A board of thousands of boxes is slow to draw: the pause after a redraw grows with its duration, so that the CPU stays free. */
const [pauseFactor, maxPauseMs] = [30, 5000]

type Board = { state?: BoardState; stale: boolean; ended: boolean }

/** Shows a rollout on the terminal until it finishes or the person quits; the last screen stays. */
export async function showBoard(context: Context, id: string): Promise<void> {
  const board: Board = { stale: false, ended: false }
  const screen = openLiveScreen(context.signal, (keys) => board.state && screenOf(context, board.state, keys))
  const { signal } = screen
  const following = follow({ ...context, signal }, id, {
    opened: (state) => Object.assign(board, { state, stale: true }),
    changed: (_, __, state) => Object.assign(board, { state, stale: true }),
    until: isBoardOver,
  }).finally(() => {
    board.ended = true
  })
  const drawing = redraw(context, board, screen.draw)
  try {
    await following
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await drawing
    await screen.close()
  }
}

/** Redraws after a change, and every second for the elapsed times. */
async function redraw({ clock }: Context, board: Board, draw: () => void): Promise<void> {
  let [drawnAt, pauseMs] = [Number.NEGATIVE_INFINITY, 0]
  while (!board.ended) {
    const sinceMs = clock.monotonicMs() - drawnAt
    if (sinceMs >= pauseMs && (board.stale || sinceMs >= 1000)) {
      board.stale = false
      drawnAt = clock.monotonicMs()
      draw()
      pauseMs = Math.min(maxPauseMs, (clock.monotonicMs() - drawnAt) * pauseFactor)
    }
    await clock.sleep(frameMs)
  }
}

const screenOf = ({ clock, stdout, style }: Context, state: BoardState, keys: boolean): ReactNode => (
  <Screen
    model={addressedBoard(state, clock.now().getTime(), style().repeatedUrl)}
    size={{ columns: stdout.columns || 80, rows: stdout.rows || 24 }}
    colour={style().colour}
    keys={keys}
  />
)
