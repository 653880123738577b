import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { anonymousShare } from '../../../src/daemon/limits/anonymous-share.ts'
import { limitsMetrics } from '../../../src/daemon/limits/limits-metrics.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReplica, aTenant } from '../../support/limits-world.ts'

function stopTimers() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Calls before the share of all callers without a login. Their places rest in timers, which the test moves. */
function aShare() {
  stopTimers()
  const [clock, registry, drain] = [manualClock(), new Registry(), new AbortController()]
  const metrics = limitsMetrics({ registry, held: () => 0, isUp: () => true })
  const share = anonymousShare({ clock, draining: drain.signal, metrics })
  const answers: string[] = []
  const call = (route: string, ip: string, name = ip) => {
    const response = Object.assign(new EventEmitter(), { closed: false })
    const [request, answered] = [{ route: { path: route }, ip } as Request, response as unknown as Response]
    const handled = Promise.resolve(share.handle(request, answered, () => void answers.push(name)))
    const leave = () => void Object.assign(response, { closed: true }).emit('close')
    // The code of its problem.
    return { leave, refusal: handled.then(() => undefined).catch(({ code }) => code as string) }
  }
  const refusal = (ip: string) =>
    share.paceRefusal({ ip } as Request, Object.assign(new EventEmitter(), { closed: false }) as unknown as Response)
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    await clock.advance(ms)
  }
  const refused = async () => (await registry.getSingleMetricAsString('tenantry_anonymous_refusals_total')).split(' ').at(-1)
  return { answers, call, refusal, pass, refused, drain: () => drain.abort() }
}

/** Each in a network of its own. */
const networks = (count: number) => Array.from({ length: count }, (_, n) => `198.${n >> 8}.${n & 255}.7`)
const school = '203.0.113.7'

test('however many addresses ask, 50 pages begin in a second, and two at once', async () => {
  const { answers, call, pass } = aShare()
  for (const ip of networks(400)) call('/docs', ip)
  await pass(0)
  expect(answers).toHaveLength(2)
  await pass(999)
  expect(answers.length).toBeGreaterThanOrEqual(48)
  expect(answers.length).toBeLessThanOrEqual(50)
  await pass(1000)
  expect(answers.length).toBeLessThanOrEqual(100)
})

test('a flood of one network delays the page of another one by one turn, and a full queue refuses the flood', async () => {
  const { answers, call, pass, refused } = aShare()
  const flood = Array.from({ length: 600 }, (_, n) => call('/docs', `198.51.100.${n % 250}`, 'flood'))
  const page = call('/docs', school, 'page')
  await pass(40)
  expect(answers).toContain('page')
  expect(answers.length).toBeLessThanOrEqual(4)
  await pass(10_000)
  const codes = await Promise.all(flood.map(({ refusal }) => refusal))
  expect([await page.refusal, new Set(codes)]).toEqual([undefined, new Set(['UNAVAILABLE', undefined])])
  expect(Number(await refused())).toBe(codes.filter(Boolean).length)
})

test('a flood of 300 networks delays an honest page by six seconds', async () => {
  const { answers, call, pass } = aShare()
  const ask = () => networks(300).map((ip) => call('/docs', ip, 'flood'))
  ask()
  const page = call('/docs', school, 'page')
  ask()
  await pass(5900)
  expect(answers).not.toContain('page')
  await pass(160)
  expect([answers.includes('page'), await page.refusal]).toEqual([true, undefined])
})

test('a school behind one address gets the burst that its address may have', async () => {
  const { answers, call, pass } = aShare()
  for (let n = 0; n < 60; n++) call('/docs', school)
  await pass(1200)
  expect(answers).toHaveLength(60)
})

test('a flood of pages delays no login, refresh, monitor, event of the payment provider and refusal', async () => {
  const { answers, call, refusal, pass } = aShare()
  for (const ip of networks(900)) call('/docs', ip, 'flood')
  const others = ['/api/auth/v1/login', '/api/auth/v1/refresh', '/healthz', '/console/', '/api/webhooks/stripe']
  for (const path of others) call(path, school, path)
  await pass(0)
  expect(answers).toEqual(['flood', 'flood', ...others])
  expect(await refusal(school)).toBe(true)
})

test('a stranger who floods the login from 250 addresses delays the login of a parent by one turn', async () => {
  const { answers, call, pass } = aShare()
  for (let n = 0; n < 1000; n++) call('/api/auth/v1/login', `198.51.100.${n % 250}`, 'stranger')
  for (let n = 0; n < 10; n++) call('/api/auth/v1/login', school, 'parent')
  await pass(400)
  expect(answers.filter((name) => name === 'parent')).toHaveLength(10)
})

test('refusals are paced, and beyond their queue connections are closed', async () => {
  const { refusal, pass, refused } = aShare()
  const all = networks(1100).map(refusal)
  let sent = 0
  for (const one of all) void one.then((mayBeSent) => (sent += Number(mayBeSent)))
  await pass(1000)
  expect(sent).toBeGreaterThanOrEqual(95)
  expect(sent).toBeLessThanOrEqual(105)
  await pass(9000)
  expect((await Promise.all(all)).filter((mayBeSent) => !mayBeSent).length).toBeGreaterThanOrEqual(95)
  expect(Number(await refused())).toBeGreaterThanOrEqual(95)
})

test('a caller that leaves takes no turn and counts as no refusal; when the daemon drains all that wait are refused', async () => {
  const { answers, call, pass, refused, drain } = aShare()
  const calls = networks(4).map((ip) => call('/docs', ip))
  calls[2]?.leave()
  await pass(40)
  expect([answers, await refused()]).toEqual([networks(4).filter((_, n) => n !== 2), '0'])
  const late = networks(3).map((ip) => call('/docs', ip))
  drain()
  expect(await Promise.all(late.map(({ refusal }) => refusal))).toEqual([undefined, 'UNAVAILABLE', 'UNAVAILABLE'])
})

test('over HTTP, pages without a login are bounded with any token, and users, logins and monitors are not', async () => {
  const clock = manualClock()
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const { get, login, work, signed, metric } = await aReplica(db, clock, { env: { TENANTRY_LIMITS_PER_ADDRESS: '1000' } })
  const anna = await aTenant(db, clock, 'anna')
  stopTimers()
  const forged = { authorization: 'Bearer forged', cookie: '__Host-tenantry=x' }
  const pages = Array.from({ length: 80 }, () => get('/page', forged))
  const refused = 'tenantry_anonymous_refusals_total'
  // Two begin, and 64 wait.
  while ((await metric(refused))[0] !== `${refused} 14`) await new Promise(setImmediate)
  const others = await Promise.all([work(anna), login(anna), get('/healthz'), signed()])
  expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await vi.advanceTimersByTimeAsync(1280)
  const statuses = (await Promise.all(pages)).map(({ status }) => status)
  expect([200, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([66, 14])
})

test('over HTTP, an address that sent a valid signature may send a month of events at once', async () => {
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const { signed } = await aReplica(db, manualClock())
  expect((await signed()).status).toBe(200)
  const answers = await Promise.all(Array.from({ length: 100 }, signed))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
})
