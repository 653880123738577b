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
  const planned = plannedBy(plan)
  const open = [...state.actions.values()].filter(isOpen)
  return plan.phases.reduce((sum, { phase }) => {
    let [longest, total, latest] = [0, 0, Number.NEGATIVE_INFINITY]
    for (const action of open) {
      if (action.phase !== phase) continue
      const { expectedMs = 0, opensAt } = planned.get(action.tenantSlug) ?? {}
      const ms = workLeft(action, expectedMs * pace, nowMs)
      longest = Math.max(longest, ms)
      total += ms
      latest = Math.max(latest, untilWindowMs(action, opensAt, nowMs) + expectedMs * pace)
    }
    return Math.max(sum + Math.max(longest, total / plan.parallel), latest)
  }, 0)
}

const isOpen = (action: RolloutAction): boolean => action.status === 'pending' || isUnderWay(action)

type Planned = ReadonlyMap<string, Readonly<{ expectedMs: number; opensAt: string | undefined }>>
const plans = new WeakMap<BoardState['plan'], Planned>()

/** Read many times a minute, and never changed. */
export function plannedBy(plan: BoardState['plan']): Planned {
  const known = plans.get(plan)
  if (known) return known
  const planned = new Map(plan.boxes.map(({ tenantSlug, expectedMs, window }) => [tenantSlug, { expectedMs, opensAt: window?.opensAt }]))
  plans.set(plan, planned)
  return planned
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
  const planned = plannedBy(plan)
  const ratios = [...actions.values()]
    .filter(({ status, durationMs }) => status === 'succeeded' && durationMs !== null)
    .map(({ tenantSlug, durationMs }) => (durationMs as number) / Math.max(1, planned.get(tenantSlug)?.expectedMs ?? 1))
    .sort((a, b) => a - b)
  return ratios[Math.floor(ratios.length / 2)] ?? 1
}
