import type { Phase, RolloutAction } from '../../../core/rollouts/index.ts'
import { hasFailed, isUnderWay } from '../words.ts'
import type { BoardState } from './state.ts'

/** Boxes of a phase that have not begun: how long they are expected to take, and the hours that some of them wait for. */
type Pending = { totalMs: number; longestMs: number; waits: { opensAt: string; expectedMs: number }[] }

type PhaseTally = { total: number; settled: number; hasOpenFailure: boolean; flying: RolloutAction[]; pending: Pending }

/** What the boxes come to, whatever the time is. Of those that move or failed it has each, of the others numbers. */
export type Tally = {
  settled: number
  total: number
  undos: { total: number; undone: number; failed: number }
  flying: RolloutAction[]
  failures: RolloutAction[]
  /** When the maintenance windows of boxes open that were told so. */
  hours: string[]
  phases: Map<Phase, PhaseTally>
  /** Real time over expected time, in the middle of the boxes that are through. */
  pace: number
}

const tallies = new WeakMap<BoardState['actions'], Readonly<{ plan: BoardState['plan']; tally: Tally }>>()

/** In one go over the boxes, and once after each change: they are thousands, and looking at each costs more than what is asked of it. */
export function tallyOf({ actions, plan }: Pick<BoardState, 'actions' | 'plan'>): Tally {
  const known = tallies.get(actions)
  if (known?.plan === plan) return known.tally
  const tally = count(actions, plannedBy(plan))
  tallies.set(actions, { plan, tally })
  return tally
}

function count(actions: BoardState['actions'], planned: Planned): Tally {
  const undos = { total: 0, undone: 0, failed: 0 }
  const tally: Tally = { settled: 0, total: 0, undos, flying: [], failures: [], hours: [], phases: new Map(), pace: 1 }
  const ratios: number[] = []
  for (const action of actions.values()) {
    addUndo(undos, action)
    const isFailed = hasFailed(action)
    if (isFailed) tally.failures.push(action)
    if (action.status === 'skipped') continue
    const phase = phaseIn(tally, action.phase)
    tally.total += 1
    phase.total += 1
    if (isFailed && !action.waived) phase.hasOpenFailure = true
    if (action.status === 'pending') addPending(tally, phase.pending, action, planned)
    else if (isUnderWay(action)) addFlying(tally, phase, action)
    else addSettled(tally, phase)
    if (action.status === 'succeeded' && action.durationMs !== null)
      ratios.push(action.durationMs / Math.max(1, planned.get(action.tenantSlug)?.expectedMs ?? 1))
  }
  tally.pace = Float64Array.from(ratios).sort()[Math.floor(ratios.length / 2)] ?? 1
  return tally
}

function phaseIn({ phases }: Tally, phase: Phase): PhaseTally {
  const known = phases.get(phase)
  if (known) return known
  const pending: Pending = { totalMs: 0, longestMs: 0, waits: [] }
  const made: PhaseTally = { total: 0, settled: 0, hasOpenFailure: false, flying: [], pending }
  phases.set(phase, made)
  return made
}

function addUndo(undos: Tally['undos'], { undo }: RolloutAction): void {
  if (!undo) return
  undos.total += 1
  if (undo.status === 'undone' || undo.status === 'failed') undos[undo.status] += 1
}

function addPending(tally: Tally, pending: Pending, { tenantSlug, waitsUntil }: RolloutAction, planned: Planned): void {
  const { expectedMs = 0, opensAt } = planned.get(tenantSlug) ?? {}
  pending.totalMs += expectedMs
  pending.longestMs = Math.max(pending.longestMs, expectedMs)
  const hour = waitsUntil ?? opensAt
  if (hour) pending.waits.push({ opensAt: hour, expectedMs })
  if (waitsUntil) tally.hours.push(waitsUntil)
}

function addFlying(tally: Tally, phase: PhaseTally, action: RolloutAction): void {
  tally.flying.push(action)
  phase.flying.push(action)
}

function addSettled(tally: Tally, phase: PhaseTally): void {
  tally.settled += 1
  phase.settled += 1
}

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
