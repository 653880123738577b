import { stretches } from './time-zone.ts'
import { days, type WindowPart } from './window-text.ts'

/** A span in which a window is open, in milliseconds of the epoch; its end is not in it. */
export type Opening = Readonly<{ fromMs: number; toMs: number }>

const dayMs = 24 * 60 * 60_000

/** All openings within the span, first to last; one that reaches out of the span is cut. */
export function openings(
  { window, timeZone }: Readonly<{ window: readonly WindowPart[]; timeZone: string }>,
  { fromMs, toMs }: Readonly<{ fromMs: number; toMs: number }>,
): Opening[] {
  const found = stretches(timeZone, fromMs, toMs).flatMap((stretch) => {
    const [from, to] = [stretch.fromMs + stretch.offsetMs, stretch.toMs + stretch.offsetMs]
    return onWallClock(window, from, to).map((open) => ({
      fromMs: Math.max(open.fromMs, from) - stretch.offsetMs,
      toMs: Math.min(open.toMs, to) - stretch.offsetMs,
    }))
  })
  return joined(found.filter((opening) => opening.fromMs < opening.toMs))
}

/** Openings in local time without clock changes, from the previous day on: one that began then may still be open. */
function onWallClock(window: readonly WindowPart[], fromMs: number, toMs: number): Opening[] {
  const found: Opening[] = []
  for (let day = Math.floor(fromMs / dayMs) - 1; day * dayMs < toMs; day++)
    for (const part of window) if (part.days.includes(weekday(day))) found.push(onDay(day, part))
  return found
}

/** The first day of the epoch was a Thursday. */
const weekday = (day: number) => days[(((day + 3) % 7) + 7) % 7] as WindowPart['days'][number]

function onDay(day: number, { from, to }: WindowPart): Opening {
  const [fromMs, toMs] = [timeMs(from), timeMs(to)]
  return { fromMs: day * dayMs + fromMs, toMs: day * dayMs + toMs + (toMs > fromMs ? 0 : dayMs) }
}

const timeMs = (time: string) => (Number(time.slice(0, 2)) * 60 + Number(time.slice(3))) * 60_000

/** Merges adjacent openings. */
export function joined(found: readonly Opening[]): Opening[] {
  const whole: Opening[] = []
  for (const next of found.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = whole.at(-1)
    if (last && next.fromMs <= last.toMs) whole[whole.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, next.toMs) }
    else whole.push(next)
  }
  return whole
}
