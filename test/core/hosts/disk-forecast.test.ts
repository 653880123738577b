import { expect, test } from 'vitest'
import { type DiskSample, fullAt, isDiskShort, withSample } from '../../../src/core/hosts/index.ts'

const at = (hours: number) => new Date(Date.parse('2026-01-05T00:00:00.000Z') + hours * 3_600_000)
const sample = (hours: number, freeBytes: number): DiskSample => ({ at: at(hours).toISOString(), freeBytes })

test('one sample an hour is kept for a week', () => {
  let samples: readonly DiskSample[] = []
  for (let minute = 0; minute <= 10 * 24 * 60; minute += 10) samples = withSample(samples, sample(minute / 60, 1))
  expect(samples.length).toBe(7 * 24 + 1)
  expect(samples[0]?.at).toBe(at(3 * 24).toISOString())
})

test.each<[string, readonly DiskSample[], number, number, number | undefined]>([
  ['half of it went in ten hours', [sample(0, 200)], 100, 10, 20],
  ['it does not fill', [sample(0, 100)], 100, 10, undefined],
  ['it becomes emptier', [sample(0, 50)], 100, 10, undefined],
  ['too little is known', [sample(0, 200)], 100, 5, undefined],
  ['nothing is known', [], 100, 10, undefined],
])('the day on which a disk is full: %s', (_, samples, freeDiskBytes, now, expected) => {
  expect(fullAt(samples, { freeDiskBytes }, at(now))).toEqual(expected === undefined ? undefined : at(expected))
})

test.each<[number, number | undefined, boolean, boolean]>([
  [9, undefined, false, true],
  [10, undefined, false, false],
  [11, undefined, true, true],
  [12, undefined, true, false],
  [50, 47, false, true],
  [50, 49, false, false],
  [50, 71, true, true],
  [50, 73, true, false],
])('with %i %% free, full in %s hours, alerted %s: short %s', (percent, hours, isAlerted, expected) => {
  const resources = { diskBytes: 1000, freeDiskBytes: percent * 10 }
  const full = hours === undefined ? undefined : at(hours)
  expect(isDiskShort({ resources, fullAt: full, now: at(0), isAlerted })).toBe(expected)
})

test('another disk begins a history of its own', () => {
  const former = { ...sample(0, 200), diskBytes: 1000 }
  const other = { ...sample(0.5, 50), diskBytes: 100 }
  expect(withSample([former], other)).toEqual([other])
})
