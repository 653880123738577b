import type { ActionStatus, Phase, RolloutState } from '../rollouts/index.ts'
import { isInFlight, phaseOf, phaseOrder, updateNeedsMs } from '../rollouts/index.ts'
import { asTimes, isEndless, type WindowCalendar, type ZonedWindow } from '../wall-clock/index.ts'

// When a school is disturbed, from what a rollout says now. A time is notified as the earliest one: a box may begin later in its window, and never before.

/** A rollout that runs. `phases`: those in which boxes still wait. */
export type Running = Pick<RolloutState, 'kind' | 'status'> &
  Readonly<{ bakeMs: number | null; bakeUntil: string | null; holdAfter: Phase | null; phases: readonly Phase[] }>

/** A box that has not begun. `window` is null where it may begin at any time. */
export type WaitingBox = Readonly<{ phase: Phase; window: ZonedWindow | null; expectedMs: number; expectedFenceMs: number }>

/** `endsBy`: the end of its window; null without one. */
export type Beginning = Readonly<{ startsAt: string; endsBy: string | null }>

type Now = Readonly<{ now: string; calendarOf: (window: ZonedWindow) => WindowCalendar }>

/** When the box begins at the earliest; undefined where no one can say: a person has to continue it first, or a phase of unknown length and a bake come before. */
export function beginningOf(rollout: Running, box: WaitingBox, { now, calendarOf }: Now): Beginning | undefined {
  const earliest = earliestOf(rollout, box.phase, Date.parse(now))
  if (!earliest) return undefined
  const anyTime = earliest.isKnown ? { startsAt: new Date(earliest.ms).toISOString(), endsBy: null } : undefined
  if (box.window === null) return anyTime
  const opening = calendarOf(box.window).fitting(earliest.ms, updateNeedsMs(box))
  if (!opening) return undefined
  // Its ends are no times to announce: each round would calculate others.
  if (opening.fromMs <= earliest.ms && isEndless(opening)) return anyTime
  const { opensAt, closesAt } = asTimes(opening)
  return { startsAt: opensAt, endsBy: closesAt }
}

function earliestOf({ kind, status, bakeMs, bakeUntil, holdAfter, phases }: Running, phase: Phase, nowMs: number) {
  const current = phaseOf({ kind, status })
  const order: readonly Phase[] = phaseOrder[kind]
  if (!current || order.indexOf(phase) < order.indexOf(current)) return undefined
  if (phase === current) return { ms: nowMs, isKnown: true }
  const before = order.slice(order.indexOf(current), order.indexOf(phase))
  if (holdAfter !== null && before.includes(holdAfter)) return undefined
  if (bakeMs === null) return { ms: nowMs, isKnown: true }
  const between = before.slice(1).filter((one) => phases.includes(one)).length
  const endOfCurrent = bakeUntil === null ? nowMs + bakeMs : Math.max(nowMs, Date.parse(bakeUntil))
  return { ms: endOfCurrent + between * bakeMs, isKnown: bakeUntil !== null && between === 0 }
}

/** The beginning that was announced, where it is another time by now; undefined: it still holds. */
export function changedBeginning(
  notified: Readonly<{ startsAt: string | null; endsBy: string | null }>,
  now: string,
  next: Beginning | undefined,
) {
  const wanted = next ?? { startsAt: null, endsBy: null }
  const hasBegun = (startsAt: string | null) => startsAt !== null && startsAt <= now
  const isSameTime =
    notified.startsAt === wanted.startsAt || (wanted.endsBy === null && hasBegun(notified.startsAt) && hasBegun(wanted.startsAt))
  return isSameTime && notified.endsBy === wanted.endsBy ? undefined : wanted
}

/** An update as its rollout shows it. */
export type UpdateState = Readonly<{
  status: ActionStatus
  waived: boolean
  /** It was updated, and is taken back or was. */
  isTakenBack: boolean
  /** The rollout has ended. */
  isOver: boolean
  fencedMs: number | null
}>

/** How an announced update ended; `waits`: it has not begun; undefined: it runs. */
export function outcomeOf({
  status,
  waived,
  isTakenBack,
  isOver,
  fencedMs,
}: UpdateState): 'done' | 'cancelled' | 'reverted' | 'waits' | undefined {
  if (isTakenBack) return 'reverted'
  if (isInFlight(status)) return undefined
  if (status === 'succeeded') return 'done'
  if (status === 'skipped' || status === 'cancelled') return 'cancelled'
  if (status === 'pending' || !(waived || isOver)) return 'waits'
  return fencedMs === null ? 'cancelled' : 'done'
}
