import type { RolloutAction } from '../../../core/rollouts/index.ts'
import { hasEnded, isUnderWay } from '../words.ts'
import type { BoardState } from './state.ts'

/**
 * How long it takes if nothing fails from here on: per phase the work that is left, shared by the workers, never less than its longest box.
 * A box that waits for its maintenance window ends no sooner than after that. The plan's expectations are scaled by how long the boxes so far really took. Undefined while it rests or once it ended.
 */
export function remainingMs(state: BoardState, nowMs: number): number | undefined {
  const { rollout, plan } = state
  if (hasEnded(rollout.status) || rollout.status === 'paused' || rollout.status === 'queued') return undefined
  const pace = paceOf(state)
  const left = new Map(plan.boxes.map(({ tenantSlug, expectedMs }) => [tenantSlug, expectedMs * pace]))
  const windows = new Map(plan.boxes.map(({ tenantSlug, window }) => [tenantSlug, window?.opensAt]))
  return plan.phases.reduce((sum, { phase }) => {
    const own = [...state.actions.values()].filter((action) => action.phase === phase)
    const works = own.map((action) => workLeft(action, left.get(action.tenantSlug) ?? 0, nowMs)).filter((ms) => ms > 0)
    const waits = own.map((action) => untilWindowMs(action, windows.get(action.tenantSlug), nowMs) + (left.get(action.tenantSlug) ?? 0))
    return Math.max(sum + Math.max(0, ...works, works.reduce((total, ms) => total + ms, 0) / plan.parallel), ...waits)
  }, 0)
}

/** Minus infinity when it waits for none: that says nothing about when it ends. */
function untilWindowMs({ status, waitsUntil }: RolloutAction, plannedAt: string | undefined, nowMs: number): number {
  const opensAt = status === 'pending' ? (waitsUntil ?? plannedAt) : undefined
  return opensAt && Date.parse(opensAt) > nowMs ? Date.parse(opensAt) - nowMs : Number.NEGATIVE_INFINITY
}

/** The least that a box under way still takes: an estimate that was passed is no reason to say "now". */
const leastLeftMs = 1000

function workLeft(action: RolloutAction, expectedMs: number, nowMs: number): number {
  if (action.status === 'pending') return expectedMs
  if (!isUnderWay(action) || !action.startedAt) return 0
  return Math.max(leastLeftMs, expectedMs - (nowMs - Date.parse(action.startedAt)))
}

/** Real time over expected time, in the middle of the boxes that are through. */
function paceOf({ actions, plan }: BoardState): number {
  const expected = new Map(plan.boxes.map(({ tenantSlug, expectedMs }) => [tenantSlug, expectedMs]))
  const ratios = [...actions.values()]
    .filter(({ status, durationMs }) => status === 'succeeded' && durationMs !== null)
    .map(({ tenantSlug, durationMs }) => (durationMs as number) / Math.max(1, expected.get(tenantSlug) ?? 1))
    .sort((a, b) => a - b)
  return ratios[Math.floor(ratios.length / 2)] ?? 1
}
