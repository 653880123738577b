import { expect, test } from 'vitest'
import { type BoxSizes, growthOf, growthText } from '../../../src/core/boxes/index.ts'

const sizes = (day: string, change: Partial<BoxSizes>): BoxSizes => ({
  day,
  databaseBytes: null,
  mediaBytes: null,
  objectBytes: null,
  ...change,
})

test('a box grew by what each part grew between its first and its last known size', () => {
  const days = [
    sizes('2026-01-01', { databaseBytes: 100 }),
    sizes('2026-01-02', { databaseBytes: 110, mediaBytes: 50 }),
    sizes('2026-01-11', { mediaBytes: 80, objectBytes: 7 }),
  ]
  expect(growthOf(days)).toEqual({ bytes: 40, days: 9, totalBytes: 197 })
})

test('a part that became readable later is not counted as growth', () => {
  expect(growthOf([sizes('2026-01-01', { databaseBytes: 5 }), sizes('2026-01-02', { databaseBytes: 5, mediaBytes: 900 })])).toEqual({
    ...{ bytes: 0, days: 1, totalBytes: 905 },
  })
})

test('sizes of one day are no growth', () => {
  expect(growthOf([])).toBeNull()
  expect(growthOf([sizes('2026-01-01', { databaseBytes: 5, mediaBytes: 1 })])).toBeNull()
})

test.each([
  [1_200_000_000, 'grew by 1.2 GB in 30 days'],
  [-4_000_000, 'shrank by 4.0 MB in 30 days'],
  [0, 'same size for 30 days'],
])('%i bytes read %s', (bytes, text) => expect(growthText({ bytes, days: 30 })).toBe(text))
