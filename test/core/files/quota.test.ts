import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quotaExceeded, quotasOf, reservedFor } from '../../../src/core/files/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'

const room = (used: number) => ({ used, limit: 1000 })

test.each([
  ['what it can have', 0, { least: 50, most: 100 }, 100],
  ['exactly what is left', 900, { least: 100, most: 100 }, 100],
  ['what is left, if that may be enough', 950, { least: 40, most: 100 }, 50],
  ['what is left, when nothing is known', 950, { least: 0, most: 5000 }, 50],
  ['nothing, for nothing', 1000, { least: 0, most: 0 }, 0],
])('set aside is %s', (_, used, size, bytes) => {
  expect(reservedFor(room(used), size)).toBe(bytes)
})

test.each([
  ['what cannot fit', 901, { least: 100, most: 100 }],
  ['anything when it is full', 1000, { least: 0, most: 10 }],
  ['anything when a smaller plan left it overfull', 2000, { least: 0, most: 10 }],
])('refused is %s', (_, used, size) => {
  expect(() => reservedFor(room(used), size)).toThrow(expect.toSatisfy((error: unknown) => isProblem(error, 'QUOTA_EXCEEDED')) as never)
})

test('the refusal says what is used and what there is', () => {
  const gigabyte = 1024 ** 3
  expect(quotaExceeded({ used: 9.999 * gigabyte, limit: 10 * gigabyte }).message).toMatch(/9\.99 GB of 10 GB/)
  expect(quotasOf({ light: 0.5, pro: 100, dedicated: 1000 })).toEqual({
    light: gigabyte / 2,
    pro: 100 * gigabyte,
    dedicated: 1000 * gigabyte,
  })
})

test('all that is set aside stays within the limit', () => {
  const size = fc.tuple(fc.nat(500), fc.nat(500)).map(([least, more]) => ({ least, most: least + more }))
  fc.assert(
    fc.property(fc.nat(1500), fc.array(size), (limit, sizes) => {
      let used = 0
      for (const one of sizes) {
        try {
          used += reservedFor({ used, limit }, one)
        } catch (error) {
          expect(isProblem(error, 'QUOTA_EXCEEDED') && (one.least > limit - used || used === limit)).toBe(true)
        }
        expect(used).toBeLessThanOrEqual(limit)
      }
    }),
  )
})
