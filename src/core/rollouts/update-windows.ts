import { duration } from '../kit/index.ts'
import { asTimes, type WindowCalendar, windowCalendar, windowText, type ZonedWindow } from '../wall-clock/index.ts'
import { type Finding, refusal } from './finding.ts'
import type { ClosedWindow } from './pause-reason.ts'
import type { PlannedBox } from './plan.ts'
import type { Expectation } from './plan-expectations.ts'

// A box begins only when its chat is expected to be back before its maintenance window closes. What comes before the fence, images and the
// warm snapshot, nobody notices; but it takes time, so the box begins in its window too, and is looked at once more before the fence.

type Expected = Pick<Expectation, 'expectedMs' | 'expectedFenceMs'>

/** Kept free before the window closes: a fifth of the time without chat, for what takes longer than it did before. */
const marginMs = ({ expectedFenceMs }: Pick<Expected, 'expectedFenceMs'>): number => expectedFenceMs / 5

/** What must be left of a window for a box to begin. */
export const updateNeedsMs = (expected: Expected): number => Math.max(expected.expectedMs, expected.expectedFenceMs) + marginMs(expected)

/** What must be left of it for the fence to go up. */
export const fenceNeedsMs = (expected: Pick<Expected, 'expectedFenceMs'>): number => expected.expectedFenceMs + marginMs(expected)

/** One calendar per window and zone: thousands of boxes share a few. */
export function calendarsFrom(fromMs: number): (window: ZonedWindow) => WindowCalendar {
  const known = new Map<string, WindowCalendar>()
  return (window) => {
    const key = `${window.timeZone} ${windowText(window.window)}`
    const calendar = known.get(key) ?? windowCalendar(window, fromMs)
    known.set(key, calendar)
    return calendar
  }
}

/** What a window means for the turn of a box. */
export type PlannedWindow = Readonly<{
  next: NonNullable<PlannedBox['window']> | null
  findings: readonly Finding[]
  /** The first moment at or after that one at which it may begin; always, when undefined. */
  earliestMs: ((fromMs: number) => number) | undefined
}>

type Windowed = Readonly<{ slug: string; window: ZonedWindow | null }>

/** Where any time is right, as in an emergency, windows are not looked at. */
export function planWindows(now: string, anyTime: boolean): (box: Windowed, expected: Expectation) => PlannedWindow {
  const nowMs = Date.parse(now)
  const calendarOf = calendarsFrom(nowMs)
  return ({ slug, window }, expected) => {
    if (window === null || anyTime) return { next: null, findings: [], earliestMs: undefined }
    const [calendar, neededMs] = [calendarOf(window), updateNeedsMs(expected)]
    const fitting = calendar.fitting(nowMs, neededMs)
    return {
      next: asTimes(fitting ?? calendar.at(nowMs)),
      findings: fitting ? [] : [tooShort(slug, window, neededMs)],
      earliestMs: (fromMs) => Math.max(fromMs, calendar.fitting(fromMs, neededMs)?.fromMs ?? Number.POSITIVE_INFINITY),
    }
  }
}

const tooShort = (slug: string, { window, timeZone }: ZonedWindow, neededMs: number): Finding =>
  refusal(
    'WINDOW_TOO_SHORT',
    `the update of ${slug} needs about ${duration(neededMs)}, and its maintenance window (${windowText(window)}, ${timeZone}) is never open ` +
      'for that long: make it longer with `tenantry tenants window`, or give `--ignore-windows`',
  )

/** Why a box may not begin, or its fence go up, for which so much must be left of its window; null when it may. */
export function closedWindow(
  window: ZonedWindow | null,
  calendarOf: (window: ZonedWindow) => WindowCalendar,
  now: string,
  neededMs: number,
): ClosedWindow | null {
  if (window === null) return null
  const fitting = calendarOf(window).fitting(Date.parse(now), neededMs)
  if (!fitting) return { window: window.timeZone, until: null, neededMs }
  const until = asTimes(fitting).opensAt
  return until <= now ? null : { window: window.timeZone, until }
}
