import { expect, test } from 'vitest'
import { stopGraceMs } from '../../../src/core/boxes/index.ts'

test.each([
  ['90s', 90_000],
  ['1m30s', 90_000],
  ['2m0s', 120_000],
  ['1h', 3_600_000],
  ['1.5s', 1_500],
  ['500ms', 500],
  [undefined, 10_000],
  [null, 10_000],
])('a grace of %j is %i ms', (value, ms) => {
  expect(stopGraceMs(value)).toBe(ms)
})
