import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SnapshotTier } from '../../../src/core/boxes/index.ts'
import { evaluateRetention, type RetainedSnapshot, type RetentionRule, SnapshotStatus } from '../../../src/core/snapshots/index.ts'

const rule: RetentionRule = { daily: 7, weekly: 4, monthly: 6, preUpdateDays: 30, preRestoreDays: 30, manualDays: 90, finalDays: 365 }
const now = '2026-06-30T05:00:00.000Z'
const dayMs = 86_400_000
const ago = (days: number) => new Date(Date.parse(now) - days * dayMs).toISOString()
const aSnapshot = (snapshotId: string, days: number, change: Partial<RetainedSnapshot> = {}): RetainedSnapshot => ({
  snapshotId,
  tier: 'daily',
  takenAt: ago(days),
  status: 'present',
  provenAt: null,
  reported: true,
  ...change,
})
/** A newer snapshot, so that the tested one is not protected as the newest. */
const fresh = aSnapshot('fresh', 0)
const judge = (snapshots: readonly RetainedSnapshot[], inUse: Record<string, string> = {}) =>
  evaluateRetention({ snapshots, rule, now, inUse: new Map(Object.entries(inUse)) })

describe('after the database was restored from a backup', () => {
  const lost = [aSnapshot('before', 60), aSnapshot('lost', 20, { tier: 'pre-update', reported: false }), fresh]
  const newer = aSnapshot('newer', 10, { tier: 'pre-update' })
  const forgotten = (unrecorded?: { from: string; until: string }) =>
    evaluateRetention({ snapshots: [...lost, newer], rule, now, inUse: new Map(), unrecorded }).forget

  test('a snapshot whose report was lost is retained as long as its tier says', () => {
    expect(forgotten()).toContain('lost')
    expect(forgotten({ from: ago(21), until: ago(19) })).not.toContain('lost')
  })

  test('one from before the backup or after the restore is still left over by a killed command', () => {
    expect(forgotten({ from: ago(19), until: ago(18) })).toContain('lost')
    expect(forgotten({ from: ago(30), until: ago(21) })).toContain('lost')
  })
})

describe('by tier', () => {
  test.each([
    ['pre-update', 29, false],
    ['pre-update', 31, true],
    ['pre-restore', 29, false],
    ['pre-restore', 31, true],
    ['manual', 89, false],
    ['manual', 91, true],
    ['final', 364, false],
    ['final', 366, true],
  ] as const)('%s of %i days: expires %j', (tier, days, goes) => {
    const newestBeforeUpdate = aSnapshot('newest-pre-update', 1, { tier: 'pre-update' })
    expect(judge([fresh, newestBeforeUpdate, aSnapshot('it', days, { tier })]).forget).toEqual(goes ? ['it'] : [])
  })

  test('daily ones thin out to 7 days, 4 weeks and 6 months', () => {
    const everyDay = Array.from({ length: 400 }, (_, days) => aSnapshot(`d${days}`, days))
    const { kept, forget } = judge(everyDay)
    expect([...kept.keys()].map((id) => Number(id.slice(1))).sort((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 9, 16, 30, 61, 91, 122, 150,
    ])
    expect(kept.size + forget.length).toBe(400)
    expect(kept.get('d9')).toBe('newest of its week, 3 of 4')
  })

  test('a box that was stopped for a year loses no snapshot', () => {
    const old = Array.from({ length: 7 }, (_, days) => aSnapshot(`d${days}`, 365 + days))
    expect(judge(old).forget).toEqual([])
  })

  test('several of one day: the newest stays', () => {
    expect(judge([fresh, aSnapshot('a', 3.1), aSnapshot('b', 3.2)]).forget).toEqual(['b'])
  })
})

describe('a snapshot that no command reported', () => {
  const left = (snapshotId: string, days: number, change: Partial<RetainedSnapshot> = {}) =>
    aSnapshot(snapshotId, days, { tier: 'final', reported: false, ...change })
  const earlier = aSnapshot('earlier', 20, { tier: 'final' })

  test.each([
    [6.9, [], 'not reported by a command, retained for 7 days'],
    [7.1, ['it'], undefined],
  ])('goes after a week, whatever its tier: %f days', (days, forget, why) => {
    const judged = judge([fresh, earlier, left('it', days)])
    expect([judged.forget, judged.kept.get('it')]).toEqual([forget, why])
  })

  test('stays while referenced, and when verified', () => {
    expect(judge([fresh, earlier, left('it', 10)], { it: 'rollout ro_1' }).forget).toEqual([])
    expect(judge([fresh, earlier, left('it', 10, { provenAt: ago(9) })]).forget).toEqual([])
  })

  test('uses no slot of a complete one', () => {
    const whole = [aSnapshot('daily', 1.05), aSnapshot('update', 40, { tier: 'pre-update' })]
    const parts = [left('a', 1.01, { tier: 'daily' }), left('b', 12, { tier: 'pre-update' }), left('newest', 0)]
    const { forget, kept } = judge([earlier, ...whole, ...parts])
    expect(forget).toEqual(['b'])
    expect([kept.get('newest'), kept.get('daily')]).toEqual(['newest snapshot of the box', 'newest complete snapshot'])
  })

  test('after a lost registry nothing that a listing registers counts as left over', () => {
    const listed = [left('a', 30), left('b', 20, { tier: 'manual' })]
    expect(judge(listed).forget).toEqual([])
    expect(judge([fresh, ...listed]).forget).toEqual([])
  })
})

describe('never expires', () => {
  const old = (snapshotId: string, change: Partial<RetainedSnapshot> = {}) => aSnapshot(snapshotId, 1000, { tier: 'manual', ...change })

  test.each<[string, readonly RetainedSnapshot[], Record<string, string>, string]>([
    ['a referenced one', [fresh, old('it')], { it: 'rollout ro_1' }, 'used by rollout ro_1'],
    ['the newest of the box', [old('it')], {}, 'newest snapshot of the box'],
    ['the last proven one', [fresh, old('it', { provenAt: ago(900) })], {}, 'last verified snapshot'],
    ['the newest before an update', [fresh, old('it', { tier: 'pre-update' })], {}, 'newest pre-update snapshot'],
    ['a damaged one', [fresh, old('it', { status: 'damaged' })], {}, 'damaged: operator decides'],
  ])('%s', (_, snapshots, inUse, why) => {
    const { forget, kept } = judge(snapshots, inUse)
    expect([forget, kept.get('it')]).toEqual([[], why])
  })

  test('of several verified ones only the last', () => {
    const proven = [old('early', { provenAt: ago(40) }), old('late', { provenAt: ago(20) })]
    expect(judge([fresh, ...proven]).forget).toEqual(['early'])
  })

  test('a damaged or missing one is not the newest: the one before it stays', () => {
    for (const status of ['damaged', 'missing', 'forgotten'] as const)
      expect(judge([aSnapshot('broken', 0, { status }), old('it')]).kept.get('it')).toBe('newest snapshot of the box')
  })

  test('a missing or deleted one is neither retained nor expired', () => {
    const { forget, kept } = judge([fresh, old('a', { status: 'missing' }), old('b', { status: 'forgotten' })], { a: 'rollout ro_1' })
    expect([forget, [...kept.keys()]]).toEqual([[], ['fresh']])
  })
})

const aTime = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000).toISOString())
const someSnapshots = fc.uniqueArray(
  fc.record<RetainedSnapshot>({
    snapshotId: fc.integer({ min: 0, max: 200 }).map((id) => `s${id}`),
    tier: fc.constantFrom(...SnapshotTier.options),
    takenAt: aTime,
    status: fc.constantFrom(...SnapshotStatus.options),
    provenAt: fc.option(aTime),
    reported: fc.boolean(),
  }),
  { selector: ({ snapshotId }) => snapshotId, maxLength: 60 },
)
const someUsed = fc.array(fc.integer({ min: 0, max: 200 }).map((id) => [`s${id}`, 'rollout'] as const)).map((used) => new Map(used))
const aRule = fc.record({
  daily: fc.nat(10),
  weekly: fc.nat(10),
  monthly: fc.nat(10),
  preUpdateDays: fc.nat(400),
  preRestoreDays: fc.nat(400),
  manualDays: fc.nat(400),
  finalDays: fc.nat(400),
})

describe('for any clock, policy and set', () => {
  const everything = fc.record({ snapshots: someSnapshots, rule: aRule, now: aTime, inUse: someUsed })

  test('referenced ones, the newest present one and the last verified one stay', () => {
    fc.assert(
      fc.property(everything, (input) => {
        const { forget } = evaluateRetention(input)
        const present = input.snapshots.filter(({ status }) => status === 'present')
        const last = (of: 'takenAt' | 'provenAt', among: readonly RetainedSnapshot[]) =>
          among.reduce((latest, one) => ((one[of] ?? '') > latest ? (one[of] ?? '') : latest), '')
        const gone = new Set(forget)
        for (const id of input.inUse.keys()) expect(gone.has(id)).toBe(false)
        const left = present.filter(({ snapshotId }) => !gone.has(snapshotId))
        expect(last('takenAt', left)).toBe(last('takenAt', present))
        expect(last('provenAt', left)).toBe(last('provenAt', present))
        expect(present.length > 0 && left.length === 0).toBe(false)
      }),
    )
  })

  test('unreported snapshots never expire reported ones', () => {
    fc.assert(
      fc.property(everything, (input) => {
        const told = input.snapshots.filter(({ reported }) => reported)
        const first = told.map(({ takenAt }) => takenAt).sort()[0] ?? ''
        const late = input.snapshots.filter(({ reported, provenAt, takenAt }) => !reported && provenAt === null && takenAt > first)
        fc.pre(told.length > 0)
        const without = evaluateRetention({ ...input, snapshots: input.snapshots.filter((one) => !late.includes(one)) })
        const alone = new Set(without.forget)
        for (const id of evaluateRetention(input).forget)
          expect(alone.has(id) || late.some(({ snapshotId }) => snapshotId === id)).toBe(true)
      }),
    )
  })

  test('only present ones expire, each once', () => {
    fc.assert(
      fc.property(everything, (input) => {
        const { forget, kept } = evaluateRetention(input)
        const present = input.snapshots.filter(({ status }) => status === 'present').map(({ snapshotId }) => snapshotId)
        expect(new Set(forget).size).toBe(forget.length)
        for (const id of forget) expect([present.includes(id), kept.has(id)]).toEqual([true, false])
        for (const id of present) expect(kept.has(id)).toBe(!forget.includes(id))
      }),
    )
  })

  test('retention is idempotent', () => {
    fc.assert(
      fc.property(everything, (input) => {
        const gone = new Set(evaluateRetention(input).forget)
        const snapshots = input.snapshots.map((one) => (gone.has(one.snapshotId) ? { ...one, status: 'forgotten' as const } : one))
        expect(evaluateRetention({ ...input, snapshots }).forget).toEqual([])
      }),
    )
  })
})
