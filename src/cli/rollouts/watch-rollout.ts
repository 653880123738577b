import { problem } from '../../core/kit/index.ts'
import type { BoardState } from '../../core/rollouts/index.ts'
import { isBoardOver, manifestCommand, type Rollout, type RolloutDetail, stillAskedText } from '../../core/rollouts/index.ts'
import { type Context, type Output, withAddress } from '../kit/index.ts'
import { closingLines, linesOf, openingLines } from './board/lines.ts'
import { type Follower, follow, type How } from './follow.ts'

/** The board on a terminal, plain lines elsewhere. With --json the lines go to stderr. */
export async function watchRollout(context: Context, id: string): Promise<RolloutDetail> {
  if (context.json) return waitForRollout(context, id, { output: context.stderr })
  if (!context.live) return waitForRollout(context, id, { output: context.stdout, closing: closingLines })
  const { showBoard } = await import('./board/show-board.tsx')
  await showBoard(context, id)
  const rollout = await context.api.rollouts.getRollout({ params: { id } })
  const { stillAsked } = rollout
  if (stillAsked) context.notify(`${stillAskedText(stillAsked)} To prevent that: ${manifestCommand(stillAsked)}`)
  return rollout
}

async function waitForRollout(
  context: Context,
  id: string,
  { output, closing = () => [] }: Readonly<{ output: Output; closing?: (state: BoardState) => string[] }>,
): Promise<RolloutDetail> {
  const { repeatedUrl } = context.style()
  const writeAll = (lines: readonly string[]) => {
    for (const line of lines) output.write(`${withAddress(line, repeatedUrl)}\n`)
  }
  const state = await follow(context, id, lineWriter(writeAll))
  const rollout = await context.api.rollouts.getRollout({ params: { id } })
  const { stillAsked } = rollout
  writeAll(closing({ ...state, rollout: { ...state.rollout, stillAsked } }))
  return rollout
}

/** Returns the rollout at once, or after watching or waiting for it. */
export async function followIfRequested(
  context: Context,
  rollout: Rollout | RolloutDetail,
  { watch, wait }: How,
): Promise<Rollout | RolloutDetail> {
  if (!watch && !wait) return rollout
  if (watch && wait) throw problem('USAGE', 'pass either --watch or --wait')
  return watch ? watchRollout(context, rollout.id) : waitForRollout(context, rollout.id, { output: context.stderr })
}

const lineWriter = (writeAll: (lines: readonly string[]) => void): Follower => ({
  opened: (state) => writeAll(openingLines(state)),
  changed: (before, message, after) => writeAll(linesOf(before, message, after)),
  until: (state) => isBoardOver(state) || state.rollout.status === 'paused',
})
