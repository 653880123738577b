import { type ExitCode, problem } from '../../core/kit/index.ts'
import type { Rollout, RolloutDetail } from '../../core/rollouts/index.ts'
import { type Context, flag, type Output, type Style, sections } from '../kit/index.ts'
import { closingLines, linesOf, openingLines } from './board/lines.ts'
import { type BoardState, isOver } from './board/state.ts'
import { type Follower, follow } from './follow.ts'
import { planView } from './plan.view.ts'
import { rolloutView } from './rollout.view.ts'
import { exitOfRollout } from './words.ts'

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
