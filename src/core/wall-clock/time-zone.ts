/** A name of the IANA time zone database. Offsets such as +01:00 are none: they know nothing of summer time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false
  try {
    return formatOf(name) !== undefined
  } catch {
    return false
  }
}

/** Creating one takes a thousand times as long as using it; the number of zones is small. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
  const made = new Intl.DateTimeFormat('en-US', { ...numeric, timeZone, hourCycle: 'h23' })
  formats.set(timeZone, made)
  return made
}

/** How far the clocks of the zone are ahead of UTC at that moment; negative west of Greenwich. */
export function offsetMs(timeZone: string, atMs: number): number {
  const wholeSecondMs = Math.floor(atMs / 1000) * 1000
  const [month = 1, day = 1, year = 1970, hour = 0, minute = 0, second = 0] =
    formatOf(timeZone).format(wholeSecondMs).match(/\d+/g)?.map(Number) ?? []
  return Date.UTC(year, month - 1, day, hour, minute, second) - wholeSecondMs
}

/** A span in which the clocks of a zone are not changed. */
export type Stretch = Readonly<{ fromMs: number; toMs: number; offsetMs: number }>

/** Clocks are never changed and changed back within this. */
const stepMs = 12 * 60 * 60_000

/** The span in pieces, one per change of the clocks and one more. */
export function stretches(timeZone: string, fromMs: number, toMs: number): Stretch[] {
  const found: Stretch[] = []
  let [beginMs, offset] = [fromMs, offsetMs(timeZone, fromMs)]
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs) {
    const nextMs = Math.min(atMs + stepMs, toMs)
    const next = offsetMs(timeZone, nextMs)
    if (next === offset) continue
    const changeMs = changeBetween(timeZone, atMs, nextMs)
    found.push({ fromMs: beginMs, toMs: changeMs, offsetMs: offset })
    ;[beginMs, offset] = [changeMs, next]
  }
  return [...found, { fromMs: beginMs, toMs, offsetMs: offset }].filter((stretch) => stretch.fromMs < stretch.toMs)
}

/** The first second with the offset that the later moment has. */
function changeBetween(timeZone: string, beforeMs: number, afterMs: number): number {
  const requested = offsetMs(timeZone, afterMs)
  let [low, high] = [Math.floor(beforeMs / 1000), Math.ceil(afterMs / 1000)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetMs(timeZone, middle * 1000) === requested) high = middle
    else low = middle
  }
  return high * 1000
}

const dayMs = 24 * 60 * 60_000

/**
 * The moments at which a clock of the zone shows a time, which is given as if it were UTC: two where the clocks are moved back over it, none where
 * they skip it. `after`: the moment at which clocks that skip it have moved.
 */
export function momentsOf(timeZone: string, shownMs: number): Readonly<{ moments: number[]; after: number }> {
  const [before, later] = [offsetMs(timeZone, shownMs - dayMs), offsetMs(timeZone, shownMs + dayMs)]
  if (before === later) return { moments: [shownMs - before], after: shownMs - before }
  const both = [shownMs - before, shownMs - later].filter((at) => at + offsetMs(timeZone, at) === shownMs)
  const moments = [...new Set(both)].sort((a, b) => a - b)
  return { moments, after: moments[0] ?? changeBetween(timeZone, shownMs - dayMs, shownMs + dayMs) }
}
