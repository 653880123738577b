import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextSlot, type Spacing } from '../../../src/core/limits/index.ts'

/** Requests of one address at these times: the wait of each, or a refusal. */
function answers(spacing: Spacing, timesMs: readonly number[]) {
  let slotMs: number | undefined
  return timesMs.map((nowMs) => {
    const slot = nextSlot(slotMs, nowMs, spacing)
    if (!('slotMs' in slot)) return 'refused'
    slotMs = slot.slotMs
    return slot.waitMs
  })
}

describe('five a second with a buffer of two', () => {
  const logins: Spacing = { perSecond: 5, atOnce: 1, buffered: 2 }

  test.each([
    [
      [0, 0, 0, 0],
      [0, 200, 400, 'refused'],
    ],
    [
      [0, 200, 400, 600],
      [0, 0, 0, 0],
    ],
    [
      [0, 0, 0, 200, 200],
      [0, 200, 400, 400, 'refused'],
    ],
    [
      [0, 0, 0, 0, 1000],
      [0, 200, 400, 'refused', 0],
    ],
  ])('at %j: %j', (times, expected) => {
    expect(answers(logins, times)).toEqual(expected)
  })
})

test('without a buffer no request waits: a burst passes, the next request is refused', () => {
  expect(answers({ perSecond: 30, atOnce: 3, buffered: 0 }, [0, 0, 0, 0, 34, 34])).toEqual([0, 0, 0, 'refused', 0, 'refused'])
})

const spacings = fc.record({ perSecond: fc.integer({ min: 1, max: 50 }), atOnce: fc.integer({ min: 1, max: 60 }), buffered: fc.nat(30) })
const times = fc.array(fc.nat(300), { maxLength: 150 }).map((gaps) => {
  let at = 0
  return gaps.map((gap) => {
    at += gap
    return at
  })
})

test('no period passes more requests than rate and burst allow, and no wait exceeds the buffer', () => {
  fc.assert(
    fc.property(spacings, times, (spacing, all) => {
      const turns = answers(spacing, all).flatMap((wait, index) => (wait === 'refused' ? [] : [(all[index] as number) + (wait as number)]))
      for (const wait of answers(spacing, all))
        if (wait !== 'refused') expect(wait).toBeLessThanOrEqual((spacing.buffered * 1000) / spacing.perSecond + 0.01)
      for (const [first, from] of turns.entries())
        for (const [last, to] of turns.entries())
          if (last >= first) expect(last - first + 1).toBeLessThanOrEqual(((to - from) * spacing.perSecond) / 1000 + spacing.atOnce + 0.001)
    }),
    { numRuns: 60 },
  )
})

test('a request after the returned Retry-After passes', () => {
  fc.assert(
    fc.property(spacings, times, (spacing, all) => {
      let slotMs: number | undefined
      for (const nowMs of all) {
        const slot = nextSlot(slotMs, nowMs, spacing)
        if ('slotMs' in slot) slotMs = slot.slotMs
        else expect(nextSlot(slotMs, nowMs + slot.retryAfterSeconds * 1000, spacing)).toHaveProperty('slotMs')
      }
    }),
  )
})
