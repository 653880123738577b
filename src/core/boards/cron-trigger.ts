import { Cron } from 'croner'
import { momentsOf, offsetMs } from '../wall-clock/index.ts'

// A cron trigger starts a run at the times that a clock of the tenant's time zone shows. Of fixed hours, those that a change of the clocks skips
// come once, when the clocks have moved, and those that the clocks show twice come the first time. Of every hour, each hour comes. The library
// reads the expression in UTC, where no clock is changed.

type Schedule = Readonly<{ expression: string; timeZone: string }>

const parse = (expression: string): Cron => new Cron(expression, { timezone: 'UTC', paused: true, mode: '5-part' })

const isEveryHour = (expression: string): boolean => /^(\*(\/1)?|0-23)$/.test(expression.trim().split(/\s+/)[1] ?? '')

/** No change of the clocks moves a time further. */
const maxMoveMs = 3 * 3_600_000

/** The moments at which a clock of the zone shows the time. */
function occurrencesAt({ expression, timeZone }: Schedule, shownMs: number): number[] {
  const { moments, after } = momentsOf(timeZone, shownMs)
  if (isEveryHour(expression)) return moments
  return [moments[0] ?? after]
}

/** Why the expression cannot be used; undefined if it can. */
export function cronFault(expression: string, now: Date): string | undefined {
  if (expression.trim().split(/\s+/).length !== 5) return 'it must have five fields: minute, hour, day of the month, month, day of the week'
  try {
    if (parse(expression).nextRun(now) === null) return 'it never happens'
    return isTooOften(expression) ? `it happens more than ${maxPerHour} times in an hour` : undefined
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '')
  }
}

/** Each time starts a run, which is stored for days. */
const maxPerHour = 12

/**
 * Whether any hour has too many times, as if every day were meant: the time of the check does not matter. In UTC, where no clock change moves
 * times together.
 */
function isTooOften(expression: string): boolean {
  const [minute, hour] = expression.trim().split(/\s+/)
  const times = parse(`${minute} ${hour} * * *`).nextRuns(25 * maxPerHour, new Date(0))
  return times.some((first, nth) => {
    const last = times[nth + maxPerHour]
    return last !== undefined && last.getTime() - first.getTime() < 3_600_000
  })
}

/** The first time after `after`; null if there is none. */
export function nextOccurrence(schedule: Schedule, after: Date): Date | null {
  const cron = parse(schedule.expression)
  const afterMs = after.getTime()
  let found: number | undefined
  let shown = cron.nextRun(new Date(afterMs + offsetMs(schedule.timeZone, afterMs) - maxMoveMs))
  for (; shown !== null; shown = cron.nextRun(shown)) {
    const moments = occurrencesAt(schedule, shown.getTime())
    // Later times of the clock come no earlier than this one comes first.
    if (found !== undefined && (moments[0] ?? found) >= found) break
    const next = moments.find((at) => at > afterMs)
    if (next !== undefined) found = Math.min(next, found ?? next)
  }
  return found === undefined ? null : new Date(found)
}

/** A time that is later than this is missed. */
const graceMs = 3_600_000
/** Times recorded as missed after one outage; of more only the newest. */
const maxMissed = 100

type Outage = Readonly<{ after: Date; now: Date }>

/** The times after `after` up to `now`: the newest starts a run if it is at most an hour ago, all others were missed. Oldest first. */
export function dueOccurrences(schedule: Schedule, { after, now }: Outage): { start: Date | null; missed: Date[] } {
  const due = newestBetween(schedule, { after, now })
  const newest = due.at(-1)
  const isOnTime = newest !== undefined && now.getTime() - newest.getTime() <= graceMs
  return isOnTime ? { start: newest, missed: due.slice(0, -1) } : { start: null, missed: due }
}

/** At least the newest times after `after` up to `now`, with one more than are recorded; oldest first. */
function newestBetween(schedule: Schedule, { after, now }: Outage): Date[] {
  const cron = parse(schedule.expression)
  const [fromMs, toMs] = [after.getTime(), now.getTime()]
  const found = new Set<number>()
  const endMs = fromMs + offsetMs(schedule.timeZone, fromMs) - maxMoveMs
  let shown = new Date(toMs + offsetMs(schedule.timeZone, toMs) + maxMoveMs)
  // Times that a change of the clocks moves together are fewer than were read.
  while (found.size <= 2 * maxMissed) {
    const [before] = cron.previousRuns(1, shown)
    if (!before || before.getTime() < endMs) break
    for (const at of occurrencesAt(schedule, before.getTime())) if (at > fromMs && at <= toMs) found.add(at)
    shown = before
  }
  const sorted = [...found].sort((a, b) => a - b)
  return sorted.slice(-(maxMissed + 1)).map((at) => new Date(at))
}
