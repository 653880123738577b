import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allocatePorts } from '../../../src/core/boxes/index.ts'

test.each([
  [[], 18_000],
  [[18_000], 18_003],
  [[18_000, 18_006], 18_003],
  [[18_003], 18_000],
  [[18_001], 18_004], // three do not fit before it
  [[17_998], 18_001],
  [[18_000, 18_003, 18_006], 18_009],
])('with boxes at %j the next begins at %i', (taken, first) => {
  expect(allocatePorts(taken, 18_000)).toEqual({ public: first, platform: first + 1, probe: first + 2 })
})

test('a full host is refused', () => {
  expect(() => allocatePorts([65_531], 65_531)).toThrow(/no three consecutive free ports/)
})

test('no two boxes of a host share a port, whatever was there before', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 17_990, max: 18_100 }), { maxLength: 30 }), (taken) => {
      const { public: first } = allocatePorts(taken, 18_000)
      return first >= 18_000 && taken.every((other) => Math.abs(other - first) >= 3)
    }),
  )
})
