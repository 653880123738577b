import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KnownBox, makespanMs, type PlanInput, planRollout } from '../../../src/core/rollouts/index.ts'
import { parseWindow, windowCalendar } from '../../../src/core/wall-clock/index.ts'
import { aManifest } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

// A box takes 4 minutes, 3 of them without chat; of its window it wants 4 min 36 s. It is Monday, 02:10 UTC.

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const now = '2026-01-05T02:10:00.000Z'
const plan = (boxes: readonly KnownBox[], changes: Partial<PlanInput> = {}) =>
  planRollout({
    rolloutId: 'ro_x',
    kind: 'staged',
    manifest: aManifest({ synapse: '1.163.2' }),
    manifestRevision: 2,
    boxes,
    targetSlugs: null,
    history: [],
    fenceMode: 'until-stable',
    fences: { free: 'auto', pro: 'auto', enterprise: 'auto' },
    snapshots: { free: 'before', pro: 'before', enterprise: 'before' },
    probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
    limits: { parallel: 3, perHost: 1 },
    now,
    staleAfterMs: 26 * hourMs,
    schemas: synapseSchemas,
    fenceMaxMs: 15 * minuteMs,
    rehearsalMaxAgeMs: 14 * 24 * hourMs,
    allowLongFence: false,
    ...changes,
  })

const inWindow = (text: string, timeZone = 'UTC') => ({ window: { window: parseWindow(text), timeZone } })

describe('the window of a planned box', () => {
  test.each([
    ['the open one where it fits in', 'mon 02:00-03:00', '2026-01-05T02:00:00.000Z', '2026-01-05T03:00:00.000Z'],
    ['the next one where too little is left', 'mon 02:00-02:14; tue 02:00-03:00', '2026-01-06T02:00:00.000Z', '2026-01-06T03:00:00.000Z'],
    ['the next one that is long enough', 'mon 04:00-04:04; fri 02:00-03:00', '2026-01-09T02:00:00.000Z', '2026-01-09T03:00:00.000Z'],
  ])('is %s', (_, window, opensAt, closesAt) => {
    const [box] = plan([aKnownBox('acme', inWindow(window))]).boxes
    expect(box).toMatchObject({ does: 'update', window: { opensAt, closesAt }, findings: [] })
  })

  test('is none where any time is right', () => {
    expect(plan([aKnownBox('acme')]).boxes[0]?.window).toBeNull()
  })

  test('that is never open for long enough is refused, with what to do', () => {
    const [box] = plan([aKnownBox('acme', inWindow('daily 03:00-03:04', 'Europe/Berlin'))]).boxes
    expect(box).toMatchObject({ does: 'refuse', window: { opensAt: '2026-01-06T02:00:00.000Z' } })
    expect(box?.findings).toEqual([
      {
        severity: 'refuse',
        code: 'WINDOW_TOO_SHORT',
        message:
          'the update of acme needs about 4 min 36 s, but its maintenance window (daily 03:00-03:04, Europe/Berlin) is never open that ' +
          'long. fix: extend it with `tenantry tenants window`, or pass `--ignore-windows`',
      },
    ])
  })

  test('keeps no box out that has nothing to do', () => {
    const done = { installed: { ...aKnownBox('acme').installed, synapse: '1.163.2' } }
    expect(plan([aKnownBox('acme', { ...done, ...inWindow('mon 03:00-03:01') })]).boxes[0]).toMatchObject({ does: 'skip', findings: [] })
  })

  test.each([{ ignoreWindows: true }, { kind: 'emergency_cve' as const }])('is not looked at with %j', (changes) => {
    const { boxes, expectedMs } = plan([aKnownBox('acme', inWindow('daily 12:00-12:01'))], changes)
    expect(boxes[0]).toMatchObject({ does: 'update', window: null, findings: [] })
    expect(expectedMs).toBe(4 * minuteMs)
  })
})

describe('the time that a rollout takes', () => {
  test('counts from now to when its windows let it end', () => {
    const canary = aKnownBox('acme', { canary: true, ...inWindow('mon 04:00-05:00') })
    const { phases, expectedMs } = plan([canary])
    expect(phases[0]?.expectedMs).toBe(1 * hourMs + 50 * minuteMs + 4 * minuteMs)
    expect(expectedMs).toBe(phases[0]?.expectedMs)
  })

  test('of a phase counts from the end of the one before: a window that is open now may be over then', () => {
    const canary = aKnownBox('acme', { canary: true, ...inWindow('mon 04:00-05:00') })
    const pro = aKnownBox('prima', { tier: 'pro', ...inWindow('daily 02:00-03:00') })
    const { phases, expectedMs } = plan([canary, pro])
    const ended = '2026-01-06T02:04:00.000Z'
    expect(expectedMs).toBe(Date.parse(ended) - Date.parse(now))
    expect(phases.reduce((sum, phase) => sum + phase.expectedMs, 0)).toBe(expectedMs)
  })

  test('a waiting box takes no place from the others', () => {
    const boxes = ['a', 'b', 'c'].map((slug) => aKnownBox(slug, { canary: true, hostId: slug }))
    const waits = aKnownBox('w', { canary: true, hostId: 'w', ...inWindow('mon 02:11-03:00') })
    expect(plan([...boxes, waits]).phases[0]?.expectedMs).toBe(8 * minuteMs)
  })

  test('a night is not longer than its window: the rest goes in the next one', () => {
    const fleet = Array.from({ length: 7 }, (_, n) => aKnownBox(`t${n}`, { canary: true, hostId: 'one', ...inWindow('daily 02:00-02:25') }))
    // From 02:10 two fit in (the second begins at 02:14), then five the next night.
    const ended = '2026-01-06T02:16:00.000Z'
    expect(plan(fleet).phases[0]?.expectedMs).toBe(Date.parse(ended) - Date.parse(now))
  })

  test('with windows is never shorter than without, and every turn is long enough', () => {
    const windows = ['daily 01:00-04:00', 'mon-wed 22:00-02:00', 'sun 02:00-03:00; thu 12:00-13:00'].map((text) =>
      windowCalendar({ window: parseWindow(text), timeZone: 'Europe/Berlin' }, 0),
    )
    const turn = fc.record({ expectedMs: fc.integer({ min: 1000, max: 50 * minuteMs }), host: fc.nat(5), window: fc.nat(3) })
    const limits = fc.record({ parallel: fc.integer({ min: 1, max: 4 }), perHost: fc.integer({ min: 1, max: 2 }) })
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 12 }), limits, (given, limits) => {
        const turns = given.map(({ expectedMs, host }, n) => ({ slug: `t${n}`, hostId: `h${host}`, expectedMs }))
        const began: boolean[] = []
        const timed = turns.map((one, n) => ({
          ...one,
          earliestMs: (fromMs: number) => {
            const calendar = windows[given[n]?.window ?? 0]
            const fitting = calendar?.fitting(fromMs, one.expectedMs)
            if (calendar) began.push(fitting !== undefined && Math.max(fromMs, fitting.fromMs) + one.expectedMs <= fitting.toMs)
            return calendar ? Math.max(fromMs, fitting?.fromMs ?? Number.POSITIVE_INFINITY) : fromMs
          },
        }))
        const longest = makespanMs(timed, limits)
        expect(began).not.toContain(false)
        expect(Number.isFinite(longest)).toBe(true)
        const alone = timed.map((one) => one.earliestMs(0) + one.expectedMs)
        expect(longest).toBeGreaterThanOrEqual(Math.max(0, ...alone))
      }),
    )
  })

  test('10,000 boxes with windows are planned in a moment', () => {
    const texts = ['daily 01:00-04:00', 'mon-fri 22:00-02:00', 'sat,sun 00:00-00:00']
    const fleet = Array.from({ length: 10_000 }, (_, n) =>
      aKnownBox(`t${n}`, { hostId: `h${n % 1000}`, ...(n % 4 === 0 ? {} : inWindow(texts[n % 3] as string, 'Europe/Berlin')) }),
    )
    expect(plan(fleet).updates).toBe(10_000)
  })
})
