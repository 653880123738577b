import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { budgetGate } from '../../../src/daemon/limits/budget-gate.ts'
import type { BudgetStore } from '../../../src/daemon/limits/budget-store.ts'
import { delayQueue } from '../../../src/daemon/limits/delay-queue.ts'
import { memoryStore } from '../../../src/daemon/limits/index.ts'
import { limitsMetrics } from '../../../src/daemon/limits/limits-metrics.ts'
import { userShares } from '../../../src/daemon/limits/user-shares.ts'

// The gate by itself: whoever knows whose call it is can pass it, with a tenant and an answer, and nothing else of HTTP.

function aGate(store?: BudgetStore, budget = 10) {
  const clock = manualClock()
  const delays = delayQueue({ clock, draining: new AbortController().signal }, { inAll: 10, forOne: 10 })
  const metrics = limitsMetrics({ registry: new Registry(), held: delays.held, isUp: () => true })
  return {
    clock,
    gate: budgetGate({ store: store ?? memoryStore(clock), budgetOf: () => budget, delays, shares: userShares(clock), metrics }),
  }
}

function anAnswer() {
  const said: Record<string, string> = {}
  let leave = () => {}
  const answer = {
    closed: false,
    set: (headers: Readonly<Record<string, string>>) => Object.assign(said, headers),
    on: (_: 'close', listener: () => void) => {
      leave = listener
    },
  }
  const left = () => {
    answer.closed = true
    leave()
  }
  return { answer, said, left }
}

test('a call counts for its tenant alone, says what is left, and beyond the budget is refused and does not count', async () => {
  const { gate, clock } = aGate()
  const { answer, said } = anAnswer()
  for (let n = 0; n < 9; n++) expect(await gate.pass(answer, { tenantId: 'ten_one' })).toBe(true)
  expect(said).toMatchObject({ 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '1' })
  const held = gate.pass(answer, { tenantId: 'ten_one' })
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance(2000)
  expect(await held).toBe(true)
  await expect(gate.pass(answer, { tenantId: 'ten_one' })).rejects.toMatchObject({ code: 'RATE_LIMITED', status: 429 })
  expect(await gate.pass(answer, { tenantId: 'ten_two' })).toBe(true)
  await clock.advance(61_000)
  expect(await gate.pass(answer, { tenantId: 'ten_one' })).toBe(true)
})

test('who leaves while the call is held is not answered any more', async () => {
  const { gate, clock } = aGate()
  const { answer, left } = anAnswer()
  for (let n = 0; n < 9; n++) await gate.pass(answer, { tenantId: 'ten_one' })
  const held = gate.pass(answer, { tenantId: 'ten_one' })
  await expect.poll(() => clock.sleepers()).toBe(1)
  left()
  expect(await held).toBe(false)
})

test('a store that is away lets everybody through', async () => {
  const away = () => Promise.reject(new Error('away'))
  const { gate } = aGate({ ...memoryStore(manualClock()), take: away, used: away })
  for (let n = 0; n < 30; n++) expect(await gate.pass(anAnswer().answer, { tenantId: 'ten_one' })).toBe(true)
})

test('a member who used half of the budget leaves the last tenth to the others; one who is alone has all of it', async () => {
  const { gate } = aGate(undefined, 20)
  const outcome = (userId: string) =>
    gate.pass({ ...anAnswer().answer, closed: true }, { tenantId: 'ten_one', userId }).then(
      () => 'passed',
      ({ status }: { status: number }) => status,
    )
  for (let n = 0; n < 17; n++) expect(await outcome('usr_script')).toBe('passed')
  for (let n = 0; n < 1; n++) await outcome('usr_script')
  expect(await outcome('usr_anna')).not.toBe(429)
  expect(await outcome('usr_script')).toBe(429)
  expect(await outcome('usr_anna')).not.toBe(429)
  expect(await outcome('usr_script')).toBe(429)
})
