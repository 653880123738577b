import type { Phase, RolloutAction } from '../../../core/rollouts/index.ts'
import { hasFailed, isFinished, isUnderWay } from '../words.ts'
import type { BoardState, Page } from './state.ts'

/** Boxes of a phase that have not begun: how long they are expected to take, and the hours that some of them wait for. */
type Pending = { totalMs: number; longestMs: number; waits: { opensAt: string; expectedMs: number }[] }

type PhaseTally = { total: number; settled: number; hasOpenFailure: boolean; flying: RolloutAction[]; pending: Pending }

/**
 * What the boxes come to, whatever the time is. Of those that move or failed it has each, of the others numbers. A box whose turn never came, because
 * the rollout was ended before, is none that is settled.
 */
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

/** A tally that more is added to. */
type Counted = Omit<Tally, 'pace'> & { ratios: number[] }

/** Once after each change, and then only over the page that changed: boxes are thousands, and a change is of one. */
export function tallyOf({ actions, plan }: Pick<BoardState, 'actions' | 'plan'>): Tally {
  return madeOnce(tallies, actions, plan, () => {
    const all = nothing()
    for (const page of actions.pages) addPage(all, countedOnce(page, plan))
    const { ratios, ...tally } = all
    return { ...tally, pace: Float64Array.from(ratios).sort()[Math.floor(ratios.length / 2)] ?? 1 }
  })
}

type Made<Value> = WeakMap<object, Readonly<{ plan: BoardState['plan']; value: Value }>>
const tallies: Made<Tally> = new WeakMap()
const pages: Made<Counted> = new WeakMap()

function madeOnce<Value>(made: Made<Value>, of: object, plan: BoardState['plan'], make: () => Value): Value {
  const known = made.get(of)
  if (known?.plan === plan) return known.value
  const value = make()
  made.set(of, { plan, value })
  return value
}

const countedOnce = (page: Page, plan: BoardState['plan']): Counted => madeOnce(pages, page, plan, () => count(page, plannedBy(plan)))

const nothing = (): Counted => ({
  ...{ settled: 0, total: 0, undos: { total: 0, undone: 0, failed: 0 } },
  ...{ flying: [], failures: [], hours: [], phases: new Map(), ratios: [] },
})

function count(page: Page, planned: Planned): Counted {
  const tally = nothing()
  for (const action of page) {
    addUndo(tally.undos, action)
    const isFailed = hasFailed(action)
    if (isFailed) tally.failures.push(action)
    if (action.status === 'skipped') continue
    const phase = phaseIn(tally, action.phase)
    tally.total += 1
    phase.total += 1
    if (isFailed && !action.waived) phase.hasOpenFailure = true
    if (action.status === 'pending') addPending(tally, phase.pending, action, planned)
    else if (isUnderWay(action)) addFlying(tally, phase, action)
    else if (action.status !== 'cancelled') addSettled(tally, phase)
    if (action.status === 'succeeded' && action.durationMs !== null)
      tally.ratios.push(action.durationMs / Math.max(1, planned.get(action.tenantSlug)?.expectedMs ?? 1))
  }
  return tally
}

function addPage(all: Counted, page: Counted): void {
  all.settled += page.settled
  all.total += page.total
  for (const end of ['total', 'undone', 'failed'] as const) all.undos[end] += page.undos[end]
  all.flying.push(...page.flying)
  all.failures.push(...page.failures)
  all.hours.push(...page.hours)
  all.ratios.push(...page.ratios)
  for (const [phase, tally] of page.phases) addPhase(phaseIn(all, phase), tally)
}

function addPhase(all: PhaseTally, { total, settled, hasOpenFailure, flying, pending }: PhaseTally): void {
  all.total += total
  all.settled += settled
  all.hasOpenFailure ||= hasOpenFailure
  all.flying.push(...flying)
  all.pending.totalMs += pending.totalMs
  all.pending.longestMs = Math.max(all.pending.longestMs, pending.longestMs)
  all.pending.waits.push(...pending.waits)
}

function phaseIn({ phases }: Counted, phase: Phase): PhaseTally {
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

function addPending(tally: Counted, pending: Pending, { tenantSlug, waitsUntil }: RolloutAction, planned: Planned): void {
  const { expectedMs = 0, opensAt } = planned.get(tenantSlug) ?? {}
  pending.totalMs += expectedMs
  pending.longestMs = Math.max(pending.longestMs, expectedMs)
  const hour = waitsUntil ?? opensAt
  if (hour) pending.waits.push({ opensAt: hour, expectedMs })
  if (waitsUntil) tally.hours.push(waitsUntil)
}

function addFlying(tally: Counted, phase: PhaseTally, action: RolloutAction): void {
  tally.flying.push(action)
  phase.flying.push(action)
}

function addSettled(tally: Counted, phase: PhaseTally): void {
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

/**
 * How long it takes if nothing fails from here on: per phase the work that is left, shared by the workers, never less than its longest box.
 * A box that waits for its maintenance window ends no sooner than after that. The plan's expectations are scaled by how long the boxes so far really took. Undefined while it rests or once it ended.
 */
export function remainingMs(state: BoardState, nowMs: number): number | undefined {
  const { rollout, plan } = state
  if (isFinished(rollout.status) || rollout.status === 'paused' || rollout.status === 'queued') return undefined
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
