import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openings, parseWindow, type WindowPart, windowCalendar } from '../../../src/core/wall-clock/index.ts'

const ms = (iso: string) => Date.parse(iso)
const hoursMs = 3_600_000

/** The openings in a period, as `opens – closes` in UTC, without seconds. */
const shown = (window: string, timeZone: string, from: string, to: string) =>
  openings({ window: parseWindow(window), timeZone }, { fromMs: ms(from), toMs: ms(to) }).map(
    ({ fromMs, toMs }) => `${stamp(fromMs)} – ${stamp(toMs)}`,
  )
const stamp = (atMs: number) => new Date(atMs).toISOString().slice(5, 16)

describe('a window opens by the wall clock of its zone', () => {
  test.each([
    ['daily 02:00-05:00', 'UTC', '2026-01-05T00:00Z', '2026-01-06T00:00Z', ['01-05T02:00 – 01-05T05:00']],
    ['mon 02:00-05:00', 'Europe/Berlin', '2026-01-04T00:00Z', '2026-01-11T00:00Z', ['01-05T01:00 – 01-05T04:00']],
    ['mon 02:00-05:00', 'Europe/Berlin', '2026-07-05T00:00Z', '2026-07-12T00:00Z', ['07-06T00:00 – 07-06T03:00']],
    // time zones with half hours, and a Monday that begins on Sunday in UTC
    ['mon 02:00-05:00', 'Asia/Kolkata', '2026-01-04T00:00Z', '2026-01-11T00:00Z', ['01-04T20:30 – 01-04T23:30']],
    ['mon 02:00-05:00', 'Asia/Kathmandu', '2026-01-04T00:00Z', '2026-01-11T00:00Z', ['01-04T20:15 – 01-04T23:15']],
    ['mon 22:00-23:00', 'America/Los_Angeles', '2026-01-04T00:00Z', '2026-01-11T00:00Z', ['01-06T06:00 – 01-06T07:00']],
    // over midnight, opened on the day before the period
    ['sun 22:00-04:00', 'Europe/Berlin', '2026-01-04T00:00Z', '2026-01-11T00:00Z', ['01-04T21:00 – 01-05T03:00']],
    ['sat 22:00-04:00', 'UTC', '2026-01-04T00:00Z', '2026-01-05T00:00Z', ['01-04T00:00 – 01-04T04:00']],
    // equal start and end are a whole day; adjacent windows are one
    [
      'fri 18:00-00:00; sat,sun 00:00-00:00; mon 00:00-06:00',
      'UTC',
      '2026-01-01T00:00Z',
      '2026-01-07T00:00Z',
      ['01-02T18:00 – 01-05T06:00'],
    ],
    ['daily 02:00-04:00; daily 03:00-05:00', 'UTC', '2026-01-05T00:00Z', '2026-01-06T00:00Z', ['01-05T02:00 – 01-05T05:00']],
  ])('%s in %s', (window, zone, from, to, expected) => {
    expect(shown(window, zone, from, to)).toEqual(expected)
  })
})

describe('at a clock change', () => {
  const spring = ['2026-03-28T12:00Z', '2026-03-29T12:00Z'] as const // 02:00 to 03:00 is skipped in Berlin, at 01:00 UTC
  const autumn = ['2026-10-24T12:00Z', '2026-10-25T12:00Z'] as const // 02:00 to 03:00 comes twice, until 01:00 UTC

  test('a window in the skipped hour does not open that day, but on the next', () => {
    expect(shown('daily 02:15-02:45', 'Europe/Berlin', ...spring)).toEqual([])
    expect(shown('daily 02:15-02:45', 'Europe/Berlin', '2026-03-27T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '03-28T01:15 – 03-28T01:45',
      '03-30T00:15 – 03-30T00:45',
    ])
  })

  test('a window in the repeated hour opens twice', () => {
    expect(shown('daily 02:15-02:45', 'Europe/Berlin', ...autumn)).toEqual(['10-25T00:15 – 10-25T00:45', '10-25T01:15 – 10-25T01:45'])
  })

  test('a window that ends in the skipped hour is shorter; one that ends in the repeated hour opens again', () => {
    expect(shown('sun 01:30-02:30', 'Europe/Berlin', ...spring)).toEqual(['03-29T00:30 – 03-29T01:00'])
    expect(shown('sun 01:30-02:30', 'Europe/Berlin', ...autumn)).toEqual(['10-24T23:30 – 10-25T00:30', '10-25T01:00 – 10-25T01:30'])
  })

  test('a day has 23 or 25 hours', () => {
    const length = (from: string, to: string) => {
      const [day] = openings({ window: parseWindow('sun 00:00-00:00'), timeZone: 'Europe/Berlin' }, { fromMs: ms(from), toMs: ms(to) })
      return ((day?.toMs ?? 0) - (day?.fromMs ?? 0)) / hoursMs
    }
    expect([length('2026-03-28T12:00Z', '2026-03-30T12:00Z'), length('2026-10-24T12:00Z', '2026-10-26T12:00Z')]).toEqual([23, 25])
  })

  test('a window over midnight with a clock change is an hour shorter or longer, in one piece', () => {
    expect(shown('sat 23:00-04:00', 'Europe/Berlin', ...spring)).toEqual(['03-28T22:00 – 03-29T02:00'])
    expect(shown('sat 23:00-04:00', 'Europe/Berlin', ...autumn)).toEqual(['10-24T21:00 – 10-25T03:00'])
  })

  test('also with a change at midnight, and by half an hour', () => {
    // Cairo moves from 00:00 to 01:00 on a Friday: Thursday's window continues, Friday's first hour is skipped.
    expect(shown('thu 23:00-02:00', 'Africa/Cairo', '2026-04-23T12:00Z', '2026-04-24T12:00Z')).toEqual(['04-23T21:00 – 04-23T23:00'])
    // Lord Howe moves back from 02:00 to 01:30.
    expect(shown('sun 01:00-02:00', 'Australia/Lord_Howe', '2026-04-04T10:00Z', '2026-04-05T10:00Z')).toEqual(['04-04T14:00 – 04-04T15:30'])
  })
})

describe('compared with a minute by minute model', () => {
  const zones = ['Europe/Berlin', 'Africa/Cairo', 'America/St_Johns', 'Australia/Lord_Howe', 'America/Havana', 'Asia/Kathmandu', 'UTC']
  const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
  const time = fc
    .nat({ max: 24 * 12 - 1 })
    .map((n) => `${String(Math.floor(n / 12)).padStart(2, '0')}:${String((n % 12) * 5).padStart(2, '0')}`)
  const part = fc.record({ days: fc.subarray([...names], { minLength: 1 }), from: time, to: time })
  const windows = fc.array(part, { minLength: 1, maxLength: 3 })
  /** Around the days of clock changes, and other days. */
  const changes = [
    '2026-03-29',
    '2026-10-25',
    '2026-04-24',
    '2026-10-30',
    '2026-03-08',
    '2026-11-01',
    '2026-04-05',
    '2026-10-04',
    '2026-06-15',
  ]
  const starts = fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -36 * 60, max: 12 * 60 }))
    .map(([day, minutes]) => ms(`${day}T00:00Z`) + minutes * 60_000)

  /** The reference: is the window open at this local time? */
  function isOpen(window: readonly WindowPart[], format: Intl.DateTimeFormat, atMs: number): boolean {
    const [weekday = '', clock = ''] = format.format(atMs).split(/,? /)
    const today = names.indexOf(weekday.toLowerCase() as (typeof names)[number])
    const yesterday = names[(today + 6) % 7] as (typeof names)[number]
    return window.some(({ days, from, to }) => {
      const opensToday = days.includes(names[today] as (typeof names)[number])
      if (from < to) return opensToday && clock >= from && clock < to
      return (opensToday && clock >= from) || (days.includes(yesterday) && clock < to)
    })
  }

  test('every minute is open or closed per its local time', () => {
    fc.assert(
      fc.property(windows, fc.constantFrom(...zones), starts, (window, timeZone, fromMs) => {
        const format = new Intl.DateTimeFormat('en-US', {
          timeZone,
          weekday: 'short',
          hour: '2-digit',
          minute: '2-digit',
          hourCycle: 'h23',
        })
        const toMs = fromMs + 48 * hoursMs
        const found = openings({ window, timeZone }, { fromMs, toMs })
        for (let atMs = fromMs; atMs < toMs; atMs += 60_000) {
          const open = found.some((opening) => opening.fromMs <= atMs && atMs < opening.toMs)
          if (open !== isOpen(window, format, atMs))
            throw new Error(`${new Date(atMs).toISOString()} should be ${open ? 'closed' : 'open'}`)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('openings are in order and never touch, and reading the calendar in parts gives the same', () => {
    fc.assert(
      fc.property(windows, fc.constantFrom(...zones), starts, fc.integer({ min: 1, max: 8 * 60 }), (window, timeZone, fromMs, minutes) => {
        const all = openings({ window, timeZone }, { fromMs: fromMs - 8 * 24 * hoursMs, toMs: fromMs + 60 * 24 * hoursMs })
        for (const [n, opening] of all.entries()) {
          expect(opening.toMs).toBeGreaterThan(opening.fromMs)
          expect(opening.fromMs).toBeGreaterThan(all[n - 1]?.toMs ?? Number.NEGATIVE_INFINITY)
        }
        const calendar = windowCalendar({ window, timeZone }, fromMs)
        for (const atMs of [fromMs, fromMs + 3 * 24 * hoursMs, fromMs + 20 * 24 * hoursMs]) {
          const expected = all.find((one) => one.toMs >= Math.max(one.fromMs, atMs) + minutes * 60_000)
          if (expected && expected.fromMs < atMs + 30 * 24 * hoursMs && expected.toMs < atMs + 35 * 24 * hoursMs)
            expect(calendar.fitting(atMs, minutes * 60_000)).toEqual(expected)
        }
      }),
      { numRuns: 60 },
    )
  })
})

test('a window that is never long enough gets no opening', () => {
  const calendar = windowCalendar({ window: parseWindow('mon 02:00-02:30'), timeZone: 'UTC' }, ms('2026-01-05T02:20Z'))
  expect(calendar.at(ms('2026-01-05T02:20Z'))).toEqual({ fromMs: ms('2026-01-05T02:00Z'), toMs: ms('2026-01-05T02:30Z') })
  expect(calendar.fitting(ms('2026-01-05T02:20Z'), 15 * 60_000)?.fromMs).toBe(ms('2026-01-12T02:00Z'))
  expect(calendar.fitting(ms('2026-01-05T02:20Z'), 31 * 60_000)).toBeUndefined()
})
