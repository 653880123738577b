import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { advance, emptyWindow, giveBack, type Taken, take } from '../../../src/core/limits/index.ts'

/** Reference model: a list of the seconds of accepted requests. */
function naive() {
  let accepted: number[] = []
  const within = (second: number) => accepted.filter((at) => at > second - 60)
  return {
    take: (second: number, budget: number): Taken => {
      accepted = within(second)
      const used = accepted.length
      if (used < budget) {
        accepted.push(second)
        return { accepted: true, used }
      }
      let wait = 1
      while (within(second + wait).length >= budget) wait++
      return { accepted: false, retryAfterSeconds: wait }
    },
    giveBack: () => {
      accepted.pop()
    },
    used: (second: number) => within(second).length,
  }
}

const steps = fc.array(
  fc.record({
    passed: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 3, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(130) }),
    what: fc.oneof({ weight: 8, arbitrary: fc.constant('take' as const) }, fc.constant('giveBack' as const), fc.constant('look' as const)),
    budget: fc.integer({ min: 1, max: 12 }),
  }),
  { maxLength: 200 },
)

test('the buckets decide like a list of all accepted requests, even if the budget changes', () => {
  fc.assert(
    fc.property(steps, fc.nat(100), (all, from) => {
      const [window, model] = [emptyWindow(from), naive()]
      let second = from
      for (const { passed, what, budget } of all) {
        second += passed
        if (what === 'take') expect(take(window, second, budget)).toEqual(model.take(second, budget))
        advance(window, second)
        if (what === 'giveBack' && model.used(second) > 0) {
          giveBack(window)
          model.giveBack()
        }
        expect(window.total).toBe(model.used(second))
      }
    }),
  )
})

test('any 60 seconds accept at most the budget', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 400 }), fc.integer({ min: 1, max: 20 }), (gaps, budget) => {
      const window = emptyWindow(0)
      let second = 0
      const accepted = gaps.flatMap((gap) => {
        second += gap
        return take(window, second, budget).accepted ? [second] : []
      })
      for (const at of accepted) expect(accepted.filter((other) => other > at - 60 && other <= at).length).toBeLessThanOrEqual(budget)
    }),
  )
})

test('a request after the returned Retry-After is accepted', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5), { minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 10 }), (gaps, budget) => {
      const window = emptyWindow(7)
      let second = 7
      for (const gap of gaps) {
        second += gap
        const taken = take(window, second, budget)
        if (taken.accepted) continue
        const early = structuredClone(window)
        if (taken.retryAfterSeconds > 1) expect(take(early, second + taken.retryAfterSeconds - 1, budget).accepted).toBe(false)
        expect(take(structuredClone(window), second + taken.retryAfterSeconds, budget).accepted).toBe(true)
      }
    }),
  )
})

describe('with a resolution of a second', () => {
  test.each([
    [0, 1, false],
    [59, 1, false],
    [60, 0, true],
    [61, 0, true],
    [4000, 0, true],
  ])('a request counts for 60 seconds: after %i s', (second, used, accepted) => {
    const window = emptyWindow(0)
    take(window, 0, 1)
    const later = structuredClone(window)
    advance(later, second)
    expect(later.total).toBe(used)
    expect(take(window, second, 1).accepted).toBe(accepted)
  })

  test('a refused request is not counted', () => {
    const window = emptyWindow(0)
    take(window, 0, 1)
    for (let second = 0; second < 60; second++) expect(take(window, second, 1)).toEqual({ accepted: false, retryAfterSeconds: 60 - second })
    expect(take(window, 60, 1)).toEqual({ accepted: true, used: 0 })
  })

  test('a second before the newest one counts as the newest', () => {
    const window = emptyWindow(100)
    expect(take(window, 90, 2)).toEqual({ accepted: true, used: 0 })
    expect(take(window, 100, 2)).toEqual({ accepted: true, used: 1 })
    expect(take(window, 159, 2)).toEqual({ accepted: false, retryAfterSeconds: 1 })
  })
})
