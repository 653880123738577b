import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultBudgets, delayMs, limitHeaders, unchecked, verdictOf, verdictOfRead } from '../../../src/core/limits/index.ts'

test('the budgets equal those of the specification', () => {
  expect(defaultBudgets).toEqual({ light: 2000, pro: 10_000, dedicated: 20_000 })
})

describe('the delay', () => {
  test.each([
    [2000, 0, 0],
    [2000, 1599, 0],
    [2000, 1600, 0],
    [2000, 1601, 5],
    [2000, 1700, 526],
    [2000, 1790, 1000],
    [2000, 1979, 1995],
    [2000, 1980, 2000],
    [2000, 1999, 2000],
    [10_000, 8000, 0],
    [10_000, 8950, 1000],
    [10_000, 9900, 2000],
    [20_000, 16_000, 0],
    [20_000, 16_001, 1],
    [20_000, 19_999, 2000],
    [1, 0, 0],
    [1_000_000, 800_001, 1],
  ])('of a budget of %i with %i used is %i ms', (budget, used, ms) => {
    expect(delayMs(used, budget)).toBe(ms)
  })

  test('follows the formula to half a millisecond, never falls with more usage, and is zero up to 80 percent', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (budget, share) => {
        const used = Math.min(budget - 1, Math.floor(share * budget))
        const percent = (100 * used) / budget
        const exact = percent <= 80 ? 0 : Math.min(2000, (2000 * (percent - 80)) / 19)
        expect(Math.abs(delayMs(used, budget) - exact)).toBeLessThan(1)
        expect(delayMs(used, budget) > 0).toBe(percent > 80)
        expect(delayMs(used + 1, budget)).toBeGreaterThanOrEqual(delayMs(used, budget))
      }),
    )
  })
})

describe('the headers', () => {
  const headers = (used: number) => limitHeaders(verdictOf({ accepted: true, used }, 2000))

  test('show the remaining requests after this one', () => {
    expect(headers(0)).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '1999' })
    expect(headers(1600)).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '399' })
  })

  test('contain the delay only above 80 percent', () => {
    expect(headers(1980)).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '19', 'x-ratelimit-slowdown': '2000' })
  })

  test('of a refusal show zero remaining', () => {
    const verdict = verdictOf({ accepted: false, retryAfterSeconds: 7 }, 2000)
    expect(limitHeaders(verdict)).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '0' })
    expect(verdict.retryAfterSeconds).toBe(7)
  })

  test('of an uncounted request show the remaining requests, never below zero', () => {
    expect(limitHeaders(verdictOfRead(5, 2000))).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '1995' })
    expect(limitHeaders(verdictOfRead(9000, 2000))).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '0' })
    expect(limitHeaders(unchecked(2000))).toEqual({ 'x-ratelimit-limit': '2000', 'x-ratelimit-remaining': '2000' })
  })
})
