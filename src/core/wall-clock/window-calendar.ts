import { joined, type Opening, openings } from './openings.ts'
import type { WindowPart } from './window-text.ts'

/** A window and the zone by whose clock it opens. */
export type ZonedWindow = Readonly<{ window: readonly WindowPart[]; timeZone: string }>

/** The openings of one window from a moment on, calculated on demand. */
export type WindowCalendar = Readonly<{
  /** The opening at that moment, else the next one. */
  at(ms: number): Opening
  /** The first opening at or after that moment of which so much is left, else undefined: it is never long enough. */
  fitting(ms: number, neededMs: number): Opening | undefined
}>

const dayMs = 24 * 60 * 60_000
/** An opening that began before the first moment is returned with its true beginning, up to this long before. */
const backMs = 8 * dayMs
const chunkMs = 16 * dayMs
/** Windows come again every week, and one that the clocks skip the week after. */
const horizonMs = 35 * dayMs

/**
 * Whether an opening that is open at the asked moment may be cut at its beginning. It is one of a window that never closes, or that the change of
 * the clocks leaves open for a week more.
 */
export const isEndless = ({ fromMs, toMs }: Opening): boolean => toMs - fromMs >= backMs

/** Nothing that is asked may lie before `fromMs`. */
export function windowCalendar({ window, timeZone }: ZonedWindow, fromMs: number): WindowCalendar {
  let known: Opening[] = []
  let knownToMs = fromMs - backMs
  const extend = () => {
    known = joined([...known, ...openings({ window, timeZone }, { fromMs: knownToMs, toMs: knownToMs + chunkMs })])
    knownToMs += chunkMs
  }
  const fitting = (ms: number, neededMs: number): Opening | undefined => {
    for (; ; extend()) {
      const found = firstFitting(known, ms, neededMs)
      // One that ends at the end of the calculated range may continue.
      if ((found && found.toMs < knownToMs) || knownToMs >= ms + horizonMs) return found
    }
  }
  return { at: (ms) => fitting(ms, 1) ?? { fromMs: ms + horizonMs, toMs: ms + horizonMs }, fitting }
}

function firstFitting(known: readonly Opening[], ms: number, neededMs: number): Opening | undefined {
  for (let at = firstEndingAfter(known, ms); at < known.length; at++) {
    const one = known[at] as Opening
    if (Math.max(ms, one.fromMs) + neededMs <= one.toMs) return one
  }
  return undefined
}

function firstEndingAfter(known: readonly Opening[], ms: number): number {
  let [low, high] = [0, known.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((known[middle] as Opening).toMs > ms) high = middle
    else low = middle + 1
  }
  return low
}

/** An opening as the wire has times. */
export const asTimes = ({ fromMs, toMs }: Opening): { opensAt: string; closesAt: string } => ({
  opensAt: new Date(fromMs).toISOString(),
  closesAt: new Date(toMs).toISOString(),
})
