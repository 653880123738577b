import type { RolloutAction } from './action.ts'
import type { BoardState } from './board-state.ts'
import { isOver } from './phases.ts'
import type { Phase, RollbackCounts } from './rollout.ts'
import { hasFailed, isInProgress } from './words.ts'

/** Pending boxes of a phase: expected durations, and the window openings they wait for. */
type Pending = { totalMs: number; maxMs: number; waits: { opensAt: string; expectedMs: number }[] }

/** Settled boxes apart: updated ones, and those that failed. A rollback with the rollout counts as settled only. */
type Outcomes = { succeeded: number; failed: number }

type PhaseTally = Outcomes & {
  total: number
  settled: number
  hasOpenFailure: boolean
  running: RolloutAction[]
  pending: Pending
  rollbacks: Counts
}

type Counts = { -readonly [Key in keyof RollbackCounts]: number }
const noRollbacks = (): Counts => ({ total: 0, pending: 0, running: 0, done: 0, failed: 0 })

/**
 * Counts over all boxes, independent of the time. Lists running and failed boxes, counts all others. Cancelled boxes are not settled.
 */
export type Tally = Outcomes & {
  settled: number
  total: number
  /** Boxes that an operator left out, and the number of them that had failed. */
  leftOut: string[]
  failedLeftOut: number
  /** Boxes that are rolled back with the rollout. */
  rollbacks: Counts
  running: RolloutAction[]
  failures: RolloutAction[]
  /** Opening times of the maintenance windows that boxes wait for. */
  openings: string[]
  phases: Map<Phase, PhaseTally>
  /** Median ratio of actual to expected duration of succeeded boxes. */
  pace: number
}

/** A tally in the making. */
type Counted = Omit<Tally, 'pace'> & { ratios: number[] }

const tallies = new WeakMap<BoardState['actions'], Readonly<{ plan: BoardState['plan']; tally: Tally }>>()

/** Memoized, because one screen asks for it several times. */
export function tallyOf({ actions, plan }: Pick<BoardState, 'actions' | 'plan'>): Tally {
  const known = tallies.get(actions)
  if (known?.plan === plan) return known.tally
  const { ratios, ...counted } = count(actions.values(), plannedBy(plan))
  const tally = { ...counted, pace: Float64Array.from(ratios).sort()[Math.floor(ratios.length / 2)] ?? 1 }
  tallies.set(actions, { plan, tally })
  return tally
}

function count(actions: Iterable<RolloutAction>, planned: Planned): Counted {
  const tally: Counted = {
    ...{ settled: 0, succeeded: 0, failed: 0, total: 0, leftOut: [], failedLeftOut: 0, rollbacks: noRollbacks() },
    ...{ running: [], failures: [], openings: [], phases: new Map(), ratios: [] },
  }
  for (const action of actions) {
    const isFailed = hasFailed(action)
    if (isFailed) tally.failures.push(action)
    if (action.waived && !action.rollback) {
      tally.leftOut.push(action.tenantSlug)
      if (isFailed) tally.failedLeftOut += 1
    }
    if (action.status === 'skipped') continue
    const phase = phaseIn(tally, action.phase)
    tally.total += 1
    phase.total += 1
    for (const rollbacks of [tally.rollbacks, phase.rollbacks]) countRollback(rollbacks, action)
    if (isFailed && !action.waived) phase.hasOpenFailure = true
    if (action.status === 'pending') addPending({ tally, pending: phase.pending }, action, planned)
    else if (isInProgress(action)) addRunning(tally, phase, action)
    else if (action.status !== 'cancelled')
      addSettled(tally, phase, isFailed ? 'failed' : action.status === 'succeeded' ? 'succeeded' : undefined)
    if (action.status === 'succeeded' && action.durationMs !== null)
      tally.ratios.push(action.durationMs / Math.max(1, planned.get(action.tenantSlug)?.expectedMs ?? 1))
  }
  return tally
}

function phaseIn({ phases }: Counted, phase: Phase): PhaseTally {
  const known = phases.get(phase)
  if (known) return known
  const pending: Pending = { totalMs: 0, maxMs: 0, waits: [] }
  const outcomes = { total: 0, settled: 0, succeeded: 0, failed: 0, hasOpenFailure: false }
  const added: PhaseTally = { ...outcomes, running: [], pending, rollbacks: noRollbacks() }
  phases.set(phase, added)
  return added
}

function countRollback(rollbacks: Tally['rollbacks'], { rollback }: RolloutAction): void {
  if (!rollback) return
  rollbacks.total += 1
  rollbacks[rollback.status] += 1
}

function addPending(
  { tally, pending }: Readonly<{ tally: Counted; pending: Pending }>,
  { tenantSlug, waitsUntil }: RolloutAction,
  planned: Planned,
): void {
  const { expectedMs = 0, opensAt } = planned.get(tenantSlug) ?? {}
  pending.totalMs += expectedMs
  pending.maxMs = Math.max(pending.maxMs, expectedMs)
  const hour = waitsUntil ?? opensAt
  if (hour) pending.waits.push({ opensAt: hour, expectedMs })
  if (waitsUntil) tally.openings.push(waitsUntil)
}

function addRunning(tally: Counted, phase: PhaseTally, action: RolloutAction): void {
  tally.running.push(action)
  phase.running.push(action)
}

function addSettled(tally: Counted, phase: PhaseTally, outcome: keyof Outcomes | undefined): void {
  for (const one of [tally, phase]) {
    one.settled += 1
    if (outcome) one[outcome] += 1
  }
}

type Planned = ReadonlyMap<string, Readonly<{ expectedMs: number; opensAt: string | undefined }>>
const plans = new WeakMap<BoardState['plan'], Planned>()

/** Memoized: a plan never changes. */
export function plannedBy(plan: BoardState['plan']): Planned {
  const known = plans.get(plan)
  if (known) return known
  const planned = new Map(plan.boxes.map(({ tenantSlug, expectedMs, window }) => [tenantSlug, { expectedMs, opensAt: window?.opensAt }]))
  plans.set(plan, planned)
  return planned
}

/**
 * The remaining time if nothing fails: per phase the remaining work divided by the parallelism, at least its longest box. A box that waits for
 * its maintenance window ends after the opening. Expected durations are scaled by the pace until now. Undefined unless the rollout is running.
 */
export function remainingMs(state: BoardState, nowMs: number): number | undefined {
  const { rollout, plan } = state
  if (isOver(rollout.status) || rollout.status === 'paused' || rollout.status === 'queued') return undefined
  const { phases, pace } = tallyOf(state)
  const planned = plannedBy(plan)
  const open = plan.phases.filter(({ phase }) => isOpen(phases.get(phase)))
  const bakes = (rollout.bakeMs ?? 0) * Math.max(0, open.length - 1) + Math.max(0, Date.parse(rollout.bakeUntil ?? '') - nowMs || 0)
  return plan.phases.reduce((sum, { phase }) => {
    const open = phases.get(phase)
    if (!open) return sum
    const { running, pending } = open
    const left = running.map((action) => workLeft(action, (planned.get(action.tenantSlug)?.expectedMs ?? 0) * pace, nowMs))
    const slowestMs = Math.max(pending.maxMs * pace, ...left)
    const total = left.reduce((all, ms) => all + ms, pending.totalMs * pace)
    let latest = Number.NEGATIVE_INFINITY // open windows do not delay the end
    for (const { opensAt, expectedMs } of pending.waits) {
      const untilMs = Date.parse(opensAt) - nowMs
      if (untilMs > 0) latest = Math.max(latest, untilMs + expectedMs * pace)
    }
    return Math.max(sum + Math.max(slowestMs, total / plan.parallel), latest)
  }, bakes)
}

const isOpen = (phase: PhaseTally | undefined): boolean => phase !== undefined && (phase.running.length > 0 || phase.pending.maxMs > 0)

/** The minimum estimate for a running box that is past its expected duration. */
const minLeftMs = 1000

function workLeft({ startedAt }: RolloutAction, expectedMs: number, nowMs: number): number {
  return startedAt ? Math.max(minLeftMs, expectedMs - (nowMs - Date.parse(startedAt))) : 0
}
