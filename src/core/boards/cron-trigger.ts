import { Cron } from 'croner'

// A cron trigger starts a run at fixed times of the tenant's time zone. A time that a change of the clocks skips is moved behind it; one that
// the clocks show twice counts once for a fixed hour.

type Schedule = Readonly<{ expression: string; timeZone: string }>

const parse = ({ expression, timeZone }: Schedule): Cron => new Cron(expression, { timezone: timeZone, paused: true, mode: '5-part' })

/** Why the expression cannot be used; undefined if it can. */
export function cronFault(expression: string, timeZone: string, now: Date): string | undefined {
  if (expression.trim().split(/\s+/).length !== 5) return 'it must have five fields: minute, hour, day of the month, month, day of the week'
  try {
    if (parse({ expression, timeZone }).nextRun(now) === null) return 'it never happens'
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
  const times = parse({ expression: `${minute} ${hour} * * *`, timeZone: 'UTC' }).nextRuns(25 * maxPerHour, new Date(0))
  return times.some((first, nth) => {
    const last = times[nth + maxPerHour]
    return last !== undefined && last.getTime() - first.getTime() < 3_600_000
  })
}

/** The first time after `after`; null if there is none. */
export const nextOccurrence = (schedule: Schedule, after: Date): Date | null => parse(schedule).nextRun(after)

/** A time that is later than this is missed. */
const graceMs = 3_600_000
/** Times recorded as missed after one outage; of more only the newest. */
const maxMissed = 100

type Outage = Readonly<{ after: Date; now: Date }>

/** The times after `after` up to `now`: the newest starts a run if it is at most an hour ago, all others were missed. Oldest first. */
export function dueOccurrences(schedule: Schedule, { after, now }: Outage): { start: Date | null; missed: Date[] } {
  const due = newestBetween(parse(schedule), { after, now })
  const newest = due.at(-1)
  const isOnTime = newest !== undefined && now.getTime() - newest.getTime() <= graceMs
  return isOnTime ? { start: newest, missed: due.slice(0, -1) } : { start: null, missed: due }
}

function newestBetween(cron: Cron, { after, now }: Outage): Date[] {
  const found: Date[] = []
  for (let before = new Date(now.getTime() + 1); found.length <= maxMissed; ) {
    const [at] = cron.previousRuns(1, before)
    if (!at || at <= after) break
    found.unshift(at)
    before = at
  }
  return found
}
