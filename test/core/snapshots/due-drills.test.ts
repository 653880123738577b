import { expect, test } from 'vitest'
import { type DrillCandidate, dueDrills } from '../../../src/core/snapshots/index.ts'

const start = Date.parse('2026-01-05T18:30:00.000Z')
const dayMs = 86_400_000
const at = (days: number) => new Date(start + days * dayMs).toISOString()
const aBox = (boxId: string, lastProvenAt: string | null, lastTriedAt = lastProvenAt): DrillCandidate => ({
  boxId,
  lastProvenAt,
  lastTriedAt,
})
const rule = { dueAfterDays: 21, retryAfterDays: 3, runs: 1 }

test('boxes longest without a proof come first, never verified ones before all others', () => {
  const boxes = [aBox('b', at(-30)), aBox('a', at(-40)), aBox('never', null)]
  expect(dueDrills(boxes, at(0), rule)).toEqual(['never', 'a', 'b'])
})

test('a box verified less than three weeks ago is skipped, also in a fleet of one', () => {
  expect(dueDrills([aBox('a', at(-20))], at(0))).toEqual([])
  expect(dueDrills([aBox('a', at(-22))], at(0))).toEqual(['a'])
})

test('a box that failed waits three days, so that it does not block others', () => {
  const boxes = [aBox('failed', null, at(-1)), aBox('other', at(-22))]
  expect(dueDrills(boxes, at(0), { ...rule, runs: 2 })).toEqual(['other'])
  expect(dueDrills(boxes, at(3), { ...rule, runs: 2 })).toEqual(['failed'])
})

test.each([1, 7, 126, 500, 1000])('a fleet of %i boxes is verified every four weeks', (size) => {
  const proven = new Map<string, string | null>(Array.from({ length: size }, (_, number) => [`box${number}`, null]))
  let longest = 0
  for (let run = 0; run < 6 * 28 * 3; run++) {
    const now = at(Math.floor(run / 6) + (run % 6) / 24)
    const candidates = [...proven].map(([boxId, when]) => aBox(boxId, when))
    for (const boxId of dueDrills(candidates, now)) {
      const before = proven.get(boxId) ?? at(0)
      longest = Math.max(longest, Date.parse(now) - Date.parse(before))
      proven.set(boxId, now)
    }
  }
  expect([...proven.values()].every((when) => when !== null)).toBe(true)
  expect(longest).toBeLessThanOrEqual(28 * dayMs)
})
