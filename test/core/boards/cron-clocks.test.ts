import { expect, test } from 'vitest'
import { dueOccurrences, nextOccurrence } from '../../../src/core/boards/index.ts'

// Cron triggers around the changes of the clocks of a year, against a model that reads a clock of the zone at each minute.

const minuteMs = 60_000
const year = { from: Date.UTC(2026, 0, 1), to: Date.UTC(2027, 0, 1) }

/** How far a clock is ahead of UTC, as the system writes it: `GMT+10:30`. */
function offsetsOf(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const known = new Map<number, number>()
  return (at) => {
    const slot = Math.floor(at / (30 * minuteMs))
    const found = known.get(slot)
    if (found !== undefined) return found
    const [, sign, hours = '0', minutes = '0'] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(slot * 30 * minuteMs)) ?? []
    const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * minuteMs
    known.set(slot, offset)
    return offset
  }
}

const fits = (field: string, value: number): boolean =>
  field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/')
    const [low = 0, high = range.includes('-') ? 0 : step === '1' ? Number(range) : 59] =
      range === '*' ? [0, 59] : range.split('-').map(Number)
    return value >= low && value <= high && (value - low) % Number(step) === 0
  })

/** The clock shows the time as if it were UTC. */
function matches(expression: string, shown: number): boolean {
  const [minute = '', hour = '', , , day = ''] = expression.split(' ')
  const at = new Date(shown)
  return fits(minute, at.getUTCMinutes()) && fits(hour, at.getUTCHours()) && (day === '*' || fits(day, at.getUTCDay()))
}

function modelled(expression: string, offsetAt: (at: number) => number, { from, to }: Readonly<{ from: number; to: number }>): number[] {
  const isEveryHour = expression.split(' ')[1] === '*'
  const times: number[] = []
  const shownBefore = new Set<number>()
  for (let at = from - 1440 * minuteMs; at < to; at += minuteMs) {
    const shown = at + offsetAt(at)
    const isDue = matches(expression, shown) && (isEveryHour || !shownBefore.has(shown))
    let isMadeUp = false
    for (let skipped = at - minuteMs + offsetAt(at - minuteMs) + minuteMs; skipped < shown; skipped += minuteMs)
      isMadeUp ||= !isEveryHour && matches(expression, skipped)
    shownBefore.add(shown)
    if ((isDue || isMadeUp) && at >= from) times.push(at)
  }
  return times
}

const minutes = ['0', '30', '15', '45', '0,30', '*/30', '*/20', '5,50', '10-12']
const hours = ['2', '1', '3', '2,3', '2,14', '1-3', '*/2', '*/6', '0,2', '*', '23,0']
const expressions = minutes.flatMap((minute, m) => hours.map((hour, h) => `${minute} ${hour} * * ${(m + h) % 4 === 0 ? '0' : '*'}`))
const named = ['0,30 2 * * *', '*/30 2 * * *', '15 2,14 * * *', '*/20 2 * * 0', '30 2,3 * * *', '30 2 * * *']

// A change of half an hour, one of the southern half, one at another hour, and the usual one.
test.each(['Australia/Lord_Howe', 'America/Santiago', 'America/New_York', 'Europe/Berlin'])(
  'times of fixed hours come once in %s',
  (timeZone) => {
    const offsetAt = offsetsOf(timeZone)
    const changes: number[] = []
    for (let at = year.from; at < year.to; at += 30 * minuteMs) if (offsetAt(at) !== offsetAt(at - 30 * minuteMs)) changes.push(at)
    expect(changes).toHaveLength(2)
    const own = expressions.filter((_, nth) => nth % 2 === timeZone.length % 2)
    for (const expression of [...named, ...own])
      for (const change of changes) {
        const [from, to] = [change - 300 * minuteMs, change + 300 * minuteMs]
        const expected = modelled(expression, offsetAt, { from, to }).map((at) => new Date(at).toISOString())
        const found: string[] = []
        for (let at = new Date(from - 1); ; ) {
          const next = nextOccurrence({ expression, timeZone }, at)
          if (!next || next.getTime() >= to) break
          found.push(next.toISOString())
          at = next
        }
        expect(found, expression).toEqual(expected)
        const { start, missed } = dueOccurrences({ expression, timeZone }, { after: new Date(from - 1), now: new Date(to - 1) })
        expect(
          [...missed, ...(start ? [start] : [])].map((at) => at.toISOString()),
          expression,
        ).toEqual(expected)
      }
  },
)
