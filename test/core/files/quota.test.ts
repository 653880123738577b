import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesToReserve, quotaExceeded, quotasInBytes } from '../../../src/core/files/index.ts'
import { isProblem } from '../../../src/core/kit/index.ts'

const usage = (used: number) => ({ used, limit: 1000 })

test.each([
  ['its maximum size', 0, { least: 50, most: 100 }, 100],
  ['exactly the free space', 900, { least: 100, most: 100 }, 100],
  ['the free space, if that may be enough', 950, { least: 40, most: 100 }, 50],
  ['the free space, when its size is unknown', 950, { least: 0, most: 5000 }, 50],
  ['nothing for an empty file', 1000, { least: 0, most: 0 }, 0],
])('an upload reserves %s', (_, used, size, bytes) => {
  expect(bytesToReserve(usage(used), size)).toBe(bytes)
})

test.each([
  ['it cannot fit', 901, { least: 100, most: 100 }],
  ['the quota is used up', 1000, { least: 0, most: 10 }],
  ['usage exceeds the quota of a smaller plan', 2000, { least: 0, most: 10 }],
])('an upload is refused when %s', (_, used, size) => {
  expect(() => bytesToReserve(usage(used), size)).toThrow(expect.toSatisfy((error: unknown) => isProblem(error, 'QUOTA_EXCEEDED')) as never)
})

test('the refusal states usage and limit', () => {
  const gigabyte = 1024 ** 3
  expect(quotaExceeded({ used: 9.999 * gigabyte, limit: 10 * gigabyte }).message).toMatch(/9\.99 GB of 10 GB/)
  expect(quotasInBytes({ light: 0.5, pro: 100, dedicated: 1000 })).toEqual({
    light: gigabyte / 2,
    pro: 100 * gigabyte,
    dedicated: 1000 * gigabyte,
  })
})

test('the sum of reservations never exceeds the limit', () => {
  const size = fc.tuple(fc.nat(500), fc.nat(500)).map(([least, more]) => ({ least, most: least + more }))
  fc.assert(
    fc.property(fc.nat(1500), fc.array(size), (limit, sizes) => {
      let used = 0
      for (const one of sizes) {
        try {
          used += bytesToReserve({ used, limit }, one)
        } catch (error) {
          expect(isProblem(error, 'QUOTA_EXCEEDED') && (one.least > limit - used || used === limit)).toBe(true)
        }
        expect(used).toBeLessThanOrEqual(limit)
      }
    }),
  )
})
