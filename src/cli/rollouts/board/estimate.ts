import type { RolloutAction } from '../../../core/rollouts/index.ts'
import { hasEnded } from '../words.ts'
import type { BoardState } from './state.ts'
import { plannedBy, tallyOf } from './tally.ts'

/**
 * How long it takes if nothing fails from here on: per phase the work that is left, shared by the workers, never less than its longest box.
 * A box that waits for its maintenance window ends no sooner than after that. The plan's expectations are scaled by how long the boxes so far really took. Undefined while it rests or once it ended.
 */
export function remainingMs(state: BoardState, nowMs: number): number | undefined {
  const { rollout, plan } = state
  if (hasEnded(rollout.status) || rollout.status === 'paused' || rollout.status === 'queued') return undefined
  const { phases, pace } = tallyOf(state)
  const planned = plannedBy(plan)
  return plan.phases.reduce((sum, { phase }) => {
    const open = phases.get(phase)
    if (!open) return sum
    const { flying, pending } = open
    const left = flying.map((action) => workLeft(action, (planned.get(action.tenantSlug)?.expectedMs ?? 0) * pace, nowMs))
    const longest = Math.max(pending.longestMs * pace, ...left)
    const total = left.reduce((all, ms) => all + ms, pending.totalMs * pace)
    let latest = Number.NEGATIVE_INFINITY // a window that is open says nothing about when it ends
    for (const { opensAt, expectedMs } of pending.waits) {
      const untilMs = Date.parse(opensAt) - nowMs
      if (untilMs > 0) latest = Math.max(latest, untilMs + expectedMs * pace)
    }
    return Math.max(sum + Math.max(longest, total / plan.parallel), latest)
  }, 0)
}

/** The least that a box under way still takes: an estimate that was passed is no reason to say "now". */
const leastLeftMs = 1000

function workLeft({ startedAt }: RolloutAction, expectedMs: number, nowMs: number): number {
  return startedAt ? Math.max(leastLeftMs, expectedMs - (nowMs - Date.parse(startedAt))) : 0
}
