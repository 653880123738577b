import { duration } from '../kit/index.ts'
import { asTimes, type WindowCalendar, windowCalendar, windowText, type ZonedWindow } from '../wall-clock/index.ts'
import { type Finding, refusal } from './finding.ts'
import type { ClosedWindow } from './pause-reason.ts'
import type { PlannedBox } from './plan.ts'
import type { Expectation } from './plan-expectations.ts'

// A box begins only when its update is expected to end before its maintenance window closes. The prefetch causes no downtime but takes time,
// so it begins in the window too, and the window is checked again before the fence.

type Expected = Pick<Expectation, 'expectedMs' | 'expectedFenceMs'>

/** Margin before the window closes: a fifth of the expected downtime. */
const marginMs = ({ expectedFenceMs }: Pick<Expected, 'expectedFenceMs'>): number => expectedFenceMs / 5

/** Time that must be left of a window for a box to begin. */
export const updateNeedsMs = (expected: Expected): number => Math.max(expected.expectedMs, expected.expectedFenceMs) + marginMs(expected)

/** Time that must be left of a window for the fence. */
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

/** The windows of a box in a plan. */
export type PlannedWindow = Readonly<{
  next: NonNullable<PlannedBox['window']> | null
  findings: readonly Finding[]
  /** The first moment at or after the given one at which it may begin; undefined: any time. */
  earliestMs: ((fromMs: number) => number) | undefined
}>

type Windowed = Readonly<{ slug: string; window: ZonedWindow | null }>

/** With `anyTime`, as in an emergency, windows are ignored. */
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
    `the update of ${slug} needs about ${duration(neededMs)}, but its maintenance window (${windowText(window)}, ${timeZone}) is never open ` +
      'that long. fix: extend it with `tenantry tenants window`, or pass `--ignore-windows`',
  )

/** The closed or too short window of a box that needs `neededMs`; null when it may begin. */
export function closedWindow(
  window: ZonedWindow | null,
  calendarOf: (window: ZonedWindow) => WindowCalendar,
  { now, neededMs }: Readonly<{ now: string; neededMs: number }>,
): ClosedWindow | null {
  if (window === null) return null
  const fitting = calendarOf(window).fitting(Date.parse(now), neededMs)
  if (!fitting) return { window: window.timeZone, until: null, neededMs }
  const until = asTimes(fitting).opensAt
  return until <= now ? null : { window: window.timeZone, until }
}
