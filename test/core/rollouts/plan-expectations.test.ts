import { expect, test } from 'vitest'
import { expectations, type PastUpdate } from '../../../src/core/rollouts/plan-expectations.ts'

const probe = { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000, quickSpacingMs: 1_000 }
const expect1 = (history: readonly PastUpdate[]) => expectations(history, { probe, assumedUpdateMs: 60_000 })

const box = (slug: string, hostId = 'h1', databaseBytes: number | null = 1e9) => ({ slug, hostId, tier: 'free' as const, databaseBytes })
const downtime = {
  ...{ mode: 'until-proven' as const, databaseBytes: 1e9 },
  ...{ stopMs: 300, snapshotMs: 10_500, copyMs: 3_000, startMs: 2_000, firstGoodMs: 3_000 },
}
const past = (slug: string, given: Partial<PastUpdate> = {}): PastUpdate => ({
  ...{ slug, hostId: 'h1', tier: 'free', durationMs: 200_000, fencedMs: null, downtime },
  ...given,
})

test('the downtime of a box is that of its parts, plus the probes of its mode', () => {
  const of = expect1([past('oak')])
  expect(of(box('oak'), { mode: 'until-proven' }).expectedFenceMs).toBe(18_800 + 2_000)
  expect(of(box('oak'), { mode: 'until-stable' }).expectedFenceMs).toBe(18_800 + 120_000)
  expect(of(box('oak'), { mode: 'none' }).expectedFenceMs).toBe(18_800)
})

test('dump, store and copy grow with the database, the rest does not', () => {
  const of = expect1([past('oak')])
  expect(of(box('oak', 'h1', 2e9), { mode: 'none' }).expectedFenceMs).toBe(5_300 + 1_500 + 24_000)
  expect(of(box('oak', 'h1', 0), { mode: 'none' }).expectedFenceMs).toBe(5_300 + 1_500)
})

test('with a hot copy the downtime does not grow with the database', () => {
  const hotCopy = { bytes: 1e9, tookMs: 20_000, fromLsn: '0/2000028', endLsn: '0/5000028' }
  const fence = { mode: 'none', snapshot: 'hot' } as const
  const copied = { downtime: { ...downtime, copyMs: 0, copyingMs: 600, snapshot: 'hot' as const, hotCopy } }
  const of = expect1([past('oak', copied), past('elm')])
  expect(of(box('oak'), fence).expectedFenceMs).toBe(5_300 + 600)
  expect(of(box('oak', 'h1', 2e9), fence).expectedFenceMs).toBe(5_300 + 600)
  expect(of(box('new', 'h1', 200e9), fence).expectedFenceMs).toBe(5_300 + 600)
  expect(of(box('elm'), fence).expectedFenceMs).toBe(5_300 + 2_000)
  // A box that fell back to a snapshot before.
  const fellBack = { downtime: { ...downtime, snapshot: 'before' as const, snapshotReason: 'no room' } }
  expect(expect1([past('ash', fellBack)])(box('ash'), fence).expectedFenceMs).toBe(18_800)
  // No more than with the snapshot before.
  const quick = { downtime: { ...downtime, snapshotMs: 1_000, copyMs: 0 } }
  expect(expect1([past('fir', quick)])(box('fir'), fence).expectedFenceMs).toBe(5_300 + 1_000)
})

test('a box without an update takes the median of its host, and never that of another host', () => {
  const slow = { downtime: { ...downtime, startMs: 60_000 } }
  const of = expect1([past('elm'), past('fir'), past('ash', slow), past('far', { hostId: 'h2', ...slow })])
  expect(of(box('new'), { mode: 'until-proven' }).expectedFenceMs).toBe(18_800 + 2_000)
  expect(of(box('new', 'h2'), { mode: 'until-proven' }).expectedFenceMs).toBe(18_800 + 58_000 + 2_000)
  expect(of(box('new', 'h3'), { mode: 'until-proven' }).expectedFenceMs).toBe(60_000 + 40_000 + 2_000)
})

test('without parts a whole fence is taken, with the probes of this mode in place of the slow ones', () => {
  const of = expect1([past('oak', { fencedMs: 150_000, downtime: null })])
  expect(of(box('oak'), { mode: 'until-stable' }).expectedFenceMs).toBe(150_000)
  expect(of(box('oak'), { mode: 'until-proven' }).expectedFenceMs).toBe(32_000)
})
