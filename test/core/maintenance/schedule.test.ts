import { describe, expect, test } from 'vitest'
import { beginningOf, changedBeginning, outcomeOf, type Running, type UpdateState } from '../../../src/core/maintenance/index.ts'
import { calendarsFrom } from '../../../src/core/rollouts/index.ts'
import { parseWindow } from '../../../src/core/wall-clock/index.ts'

const now = '2026-01-05T12:00:00.000Z' // a Monday
const nights = { window: parseWindow('mon-fri 02:00-05:00'), timeZone: 'UTC' }
const minuteMs = 60_000

const rollout = (changes: Partial<Running> = {}): Running => ({
  ...{ kind: 'staged', status: 'canary', bakeMs: null, bakeUntil: null, holdAfter: null },
  phases: ['canary', 'free_5', 'free_100', 'pro', 'enterprise'],
  ...changes,
})
const begins = (changes: Partial<Running>, box: Partial<Parameters<typeof beginningOf>[1]> = {}, at = now) =>
  beginningOf(
    rollout(changes),
    { phase: 'free_100', window: null, expectedMs: 4 * minuteMs, expectedFenceMs: 3 * minuteMs, ...box },
    { now: at, calendarOf: calendarsFrom(Date.parse(at)) },
  )

describe('when a box begins at the earliest', () => {
  const from = (startsAt: string, endsBy: string | null = null) => ({ startsAt, endsBy })
  const tonight = from('2026-01-06T02:00:00.000Z', '2026-01-06T05:00:00.000Z')
  const bake = { bakeMs: 24 * 60 * minuteMs }
  const bakeUntil = '2026-01-05T20:00:00.000Z'
  const late = { phase: 'enterprise', window: nights } as const

  test.each([
    ['without a window and a bake: now', {}, {}, from(now)],
    ['in its window, also of a later phase', {}, late, tonight],
    [
      'while its window is open: since it opened',
      { status: 'free_100' },
      { window: { ...nights, window: parseWindow('daily 11:00-13:00') } },
      from('2026-01-05T11:00:00.000Z', '2026-01-05T13:00:00.000Z'),
    ],
    ['after a bake: when it ends', { ...bake, bakeUntil, status: 'free_5' }, {}, from(bakeUntil)],
    ['after a bake and another phase: in nobody can say', { ...bake, bakeUntil }, {}, undefined],
    ['after a phase of unknown length and its bake: nobody can say', { ...bake, status: 'free_5' }, {}, undefined],
    ['in the first window after all bakes', { ...bake, bakeUntil }, late, from('2026-01-09T02:00:00.000Z', '2026-01-09T05:00:00.000Z')],
    ['a phase without boxes has no bake', { ...bake, bakeUntil, phases: ['enterprise'] }, late, tonight],
    ['behind a hold of a person: nobody can say', { holdAfter: 'free_5' }, {}, undefined],
    ['a hold behind it does not matter', { holdAfter: 'pro' }, {}, from(now)],
    ['a phase that is over', { status: 'pro' }, {}, undefined],
    ['a window that is never long enough', {}, { window: { ...nights, window: parseWindow('daily 02:00-02:03') } }, undefined],
    ['an emergency goes by its own order', { kind: 'emergency_cve', status: 'enterprise' }, {}, from(now)],
  ] as const)('%s', (_, changes, box, expected) => {
    expect(begins(changes, box)).toEqual(expected)
  })
})

describe('a time that was told', () => {
  const earlier = '2026-01-05T11:00:00.000Z'
  const later = '2026-01-05T20:00:00.000Z'
  test.each([
    ['the same', { startsAt: later, endsBy: null }, { startsAt: later, endsBy: null }, undefined],
    ['now again and again, without a window', { startsAt: earlier, endsBy: null }, { startsAt: now, endsBy: null }, undefined],
    ['sooner than it was said', { startsAt: later, endsBy: null }, { startsAt: now, endsBy: null }, { startsAt: now, endsBy: null }],
    ['the next window', { startsAt: earlier, endsBy: now }, { startsAt: later, endsBy: later }, { startsAt: later, endsBy: later }],
    ['not known any more', { startsAt: earlier, endsBy: null }, undefined, { startsAt: null, endsBy: null }],
    ['still not known', { startsAt: null, endsBy: null }, undefined, undefined],
    ['known again', { startsAt: null, endsBy: null }, { startsAt: now, endsBy: null }, { startsAt: now, endsBy: null }],
  ])('%s', (_, told, next, expected) => {
    expect(changedBeginning(told, now, next)).toEqual(expected)
  })
})

describe('a later round that nothing changed for announces no other time', () => {
  const texts = ['daily 00:00-00:00', 'mon-sun 00:00-12:00; daily 12:00-00:00', 'daily 00:00-02:00; mon-sat 02:00-03:00; daily 03:00-00:00']
  const windows = [...texts, 'fri 20:00-00:00; sat,sun 00:00-00:00', 'mon-fri 02:00-05:00'].map(parseWindow)
  const bake = { bakeMs: 60 * minuteMs, bakeUntil: '2026-04-20T00:00:00.000Z', status: 'free_5' } as const
  // The clocks of Berlin skip two to three o'clock on 29 March.
  const moments = Array.from({ length: 24 }, (_, n) => Date.parse('2026-03-15T22:59:40.000Z') + n * 29 * 60 * minuteMs)

  test.each(
    windows.flatMap((window) => [
      { window, changes: {} },
      { window, changes: bake },
    ]),
  )('%o', ({ window, changes }) => {
    const box = { window: { window, timeZone: 'Europe/Berlin' } }
    for (const ms of moments) {
      const [one, other] = [ms, ms + 10_000].map((at) => begins(changes, box, new Date(at).toISOString()))
      const told = { startsAt: one?.startsAt ?? null, endsBy: one?.endsBy ?? null }
      expect([ms, changedBeginning(told, new Date(ms + 10_000).toISOString(), other)]).toEqual([ms, undefined])
    }
  })

  test('a window that never closes is none', () => {
    const never = { window: { window: parseWindow('daily 00:00-00:00'), timeZone: 'Europe/Berlin' } }
    expect(begins({}, never)).toEqual({ startsAt: now, endsBy: null })
    expect(begins({ bakeMs: minuteMs, status: 'free_5' }, never)).toBeUndefined()
  })
})

test.each([
  [{ status: 'pending' }, 'waits'],
  [{ status: 'updating' }, undefined],
  [{ status: 'succeeded', fencedMs: 3000 }, 'done'],
  [{ status: 'succeeded', isTakenBack: true }, 'reverted'],
  [{ status: 'rolling_back', isTakenBack: true }, 'reverted'],
  [{ status: 'rolled_back', fencedMs: 3000 }, 'waits'],
  [{ status: 'rolled_back', fencedMs: 3000, waived: true }, 'done'],
  [{ status: 'failed' }, 'waits'],
  [{ status: 'failed', isOver: true }, 'cancelled'],
  [{ status: 'failed', isOver: true, fencedMs: 3000 }, 'done'],
  [{ status: 'skipped' }, 'cancelled'],
  [{ status: 'cancelled', isOver: true }, 'cancelled'],
] as const)('an update that is %o: %s', (state, outcome) => {
  const waiting: UpdateState = { status: 'pending', waived: false, isTakenBack: false, isOver: false, fencedMs: null }
  expect(outcomeOf({ ...waiting, ...state })).toBe(outcome)
})
