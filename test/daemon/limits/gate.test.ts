import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReplica, aTenant, said } from '../../support/limits-world.ts'

/** A daemon whose tenants may ask ten times a minute, and time that stands still. */
async function aDaemon({ env = {}, trustedProxies = [] as string[] } = {}) {
  const clock = manualClock()
  const { db } = await emptyDatabase('sqlite')
  onTestFinished(() => db.destroy())
  const replica = await aReplica(db, clock, {
    env: { TENANTRY_LIMITS_LIGHT: '10', TENANTRY_LIMITS_PER_ADDRESS: '1000', ...env },
    trustedProxies,
  })
  const anna = await aTenant(db, clock, 'anna')
  const times = async (count: number) => {
    for (let n = 0; n < count; n++) await replica.work(anna)
  }
  const waiting = (count: number) => vi.waitFor(() => expect(clock.sleepers()).toBe(count), { timeout: 10_000 })
  return { ...replica, clock, db, anna, times, waiting }
}

describe("a call of a tenant's user", () => {
  test('is answered with the budget of its plan and what is left of it', async () => {
    const { work, anna, db, clock } = await aDaemon()
    expect(said(await work(anna))).toEqual(['10', '9', undefined])
    expect(said(await work(anna))).toEqual(['10', '8', undefined])
    expect(said(await work(await aTenant(db, clock, 'bert', 'pro')))).toEqual(['10000', '9999', undefined])
    expect(said(await work(await aTenant(db, clock, 'carl', 'dedicated')))).toEqual(['20000', '19999', undefined])
  })

  test('goes at full speed up to 80 percent, then waits as the formula says', async () => {
    const { work, anna, times, clock, waiting, served } = await aDaemon()
    await times(8)
    expect(said(await work(anna))).toEqual(['10', '1', undefined])
    const held = work(anna)
    await waiting(1)
    await clock.advance(1051)
    expect(served()).toBe(9)
    await clock.advance(2)
    expect(said(await held)).toEqual(['10', '0', '1053'])
    expect(served()).toBe(10)
  })

  test('is refused at the budget, is not counted then, and is let in after the seconds that were said', async () => {
    const { work, anna, times, clock, waiting, served } = await aDaemon()
    await times(9)
    const held = work(anna)
    await waiting(1)
    await clock.advance(2000)
    await held
    for (let n = 0; n < 3; n++) {
      const refused = await work(anna)
      expect(refused).toMatchObject({ status: 429, code: 'RATE_LIMITED' })
      expect(refused.headers['retry-after']).toBe('58')
      expect(said(refused)).toEqual(['10', '0', undefined])
    }
    await clock.advance(57_000)
    expect((await work(anna)).status).toBe(429)
    await clock.advance(1000)
    expect((await work(anna)).status).toBe(200)
    expect(served()).toBe(11)
  })

  test('counts also when it fails, and says what is left', async () => {
    const { work, anna } = await aDaemon()
    const failed = await work(anna, { body: '{"no":1}' })
    expect([failed.status, ...said(failed)]).toEqual([400, '10', '9', undefined])
    expect(said(await work(anna))).toEqual(['10', '8', undefined])
  })

  test('counts also when its user may not make it, and says what is left', async () => {
    const { get, work, anna } = await aDaemon()
    const refused = await get('/api/platform/v1/manage', { authorization: `Bearer ${anna}` })
    expect([refused.status, refused.code, ...said(refused)]).toEqual([403, 'FORBIDDEN', '10', '9', undefined])
    expect(said(await work(anna))).toEqual(['10', '8', undefined])
  })

  test.each([
    ['an unknown path', { path: '/api/platform/v1/nowhere' }, 404],
    ['a wrong method', { method: 'PUT' }, 405],
    ['an unknown path of logins', { path: '/api/auth/v1/nowhere' }, 404],
    ['an unknown path outside the platform API', { path: '/api/nowhere' }, 404],
  ])('counts also to %s, and says what is left', async (_, more, status) => {
    const { work, anna } = await aDaemon()
    const stray = await work(anna, more)
    expect([stray.status, ...said(stray)]).toEqual([status, '10', '9', undefined])
    const stranger = await work(anna, { ...more, headers: { authorization: 'Bearer nobody' } })
    expect([stranger.status, ...said(stranger)]).toEqual([status, undefined, undefined, undefined])
    expect(said(await work(anna))).toEqual(['10', '8', undefined])
  })

  test('without a good token does not count, and says nothing of any budget', async () => {
    const { work, anna } = await aDaemon()
    const stranger = await work(anna, { headers: { authorization: 'Bearer nobody' } })
    expect([stranger.status, ...said(stranger)]).toEqual([401, undefined, undefined, undefined])
    expect(said(await work(anna))).toEqual(['10', '9', undefined])
  })

  test('is refused before its body is read', async () => {
    const { work, anna, times, clock, waiting } = await aDaemon()
    await times(9)
    const held = work(anna)
    await waiting(1)
    await clock.advance(2000)
    await held
    expect((await work(anna, { body: `{"n":${'1'.repeat(400_000)}}` })).status).toBe(429)
  })

  test('meets the budget of a new plan within seconds', async () => {
    const { work, anna, db, clock } = await aDaemon()
    await work(anna)
    await db.updateTable('tenants').set({ plan: 'pro' }).where('id', '=', anna).execute()
    await clock.advance(5000)
    expect(said(await work(anna))).toEqual(['10000', '9998', undefined])
  })
})

test('a database that cannot be read for a moment refuses nobody whose budget was known', async () => {
  const { work, anna, db, clock } = await aDaemon()
  await work(anna)
  await db.schema.alterTable('tenants').renameTo('elsewhere').execute()
  await clock.advance(5000)
  expect(said(await work(anna))).toEqual(['10', '8', undefined])
})

describe('requests that are held', () => {
  test('are limited in number: beyond that they are refused and not counted', async () => {
    const { work, anna, clock, waiting, limits, metric, times } = await aDaemon({
      env: { TENANTRY_LIMITS_LIGHT: '100', TENANTRY_LIMITS_HELD_PER_TENANT: '2' },
    })
    await times(81)
    const held = [work(anna), work(anna)]
    await waiting(2)
    const crowded = await work(anna)
    expect(crowded).toMatchObject({ status: 429, code: 'RATE_LIMITED' })
    expect(crowded.headers['retry-after']).toBe('1')
    expect(said(crowded)).toEqual(['100', '17', undefined])
    expect(await limits.store.used(anna)).toBe(83)
    expect(await metric('tenantry_requests_held')).toEqual(['tenantry_requests_held 2'])
    await clock.advance(2000)
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
    expect(await metric('tenantry_budget_requests_total')).toContain('tenantry_budget_requests_total{outcome="crowded"} 1')
  })

  test('find their place also while strangers crowd before the login', async () => {
    const { work, login, anna, times, clock, waiting } = await aDaemon({
      env: { TENANTRY_LIMITS_HELD: '2', TENANTRY_LIMITS_HELD_PER_TENANT: '2' },
    })
    await times(9)
    for (let n = 0; n < 5; n++) await login(anna)
    const logins = [login(anna), login(anna)]
    await waiting(2)
    expect((await login(anna)).status).toBe(429)
    const held = work(anna)
    await waiting(3)
    await clock.advance(2000)
    expect((await Promise.all([held, ...logins])).map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test('whose client leaves give up their place and are not served', async () => {
    const { work, anna, times, waiting, served, metric } = await aDaemon()
    await times(9)
    const leaving = new AbortController()
    const held = work(anna, { signal: leaving.signal }).catch((error) => error.name)
    await waiting(1)
    leaving.abort()
    expect(await held).toBe('AbortError')
    await waiting(0)
    expect(served()).toBe(9)
    expect(await metric('tenantry_requests_held')).toEqual(['tenantry_requests_held 0'])
  })

  test('are not served any more when their session ended while they were held', async () => {
    const { work, anna, times, waiting, clock, served, endSessions } = await aDaemon()
    await times(9)
    const held = work(anna)
    await waiting(1)
    endSessions(anna)
    await clock.advance(2000)
    expect(await held).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
    expect(served()).toBe(9)
  })

  test('are served at once when the daemon drains', async () => {
    const { work, anna, times, waiting, stopping } = await aDaemon()
    await times(9)
    const held = work(anna)
    await waiting(1)
    stopping.abort()
    expect((await held).status).toBe(200)
  })
})

describe('an answer that does not count', () => {
  test('shows what is left when it is the success of a tenant', async () => {
    const { work, login, anna } = await aDaemon()
    await work(anna)
    expect(said(await login(anna))).toEqual(['10', '9', undefined])
    expect(said(await login(anna))).toEqual(['10', '9', undefined])
  })

  test('is given also where the budget cannot be read: what was done must reach its client', async () => {
    const { login, anna, db } = await aDaemon()
    await db.schema.alterTable('tenants').renameTo('elsewhere').execute()
    const done = await login(anna)
    expect([done.status, ...said(done)]).toEqual([200, undefined, undefined, undefined])
  })

  test('shows nothing when it is a failure: it would tell that the tenant exists', async () => {
    const { login, anna } = await aDaemon()
    const failed = await login(anna, { good: false })
    expect([failed.status, ...said(failed)]).toEqual([401, undefined, undefined, undefined])
  })
})

describe('one address', () => {
  test('may ask so many times a second, and twice that at once; other paths are open to it', async () => {
    const { get, clock } = await aDaemon({ env: { TENANTRY_LIMITS_PER_ADDRESS: '3' } })
    const statuses = async (count: number) =>
      (await Promise.all(Array.from({ length: count }, () => get('/api/platform/v1/nowhere')))).map(({ status }) => status).sort()
    expect(await statuses(8)).toEqual([404, 404, 404, 404, 404, 404, 429, 429])
    const refused = await get('/API/Platform/v1/nowhere')
    expect(refused).toMatchObject({ status: 429, code: 'RATE_LIMITED' })
    expect(refused.headers['retry-after']).toBe('1')
    expect((await get('/healthz')).status).toBe(200)
    await clock.advance(1000)
    expect(await statuses(4)).toEqual([404, 404, 404, 429])
  })

  test('gets refusals at once up to ten times its pace, and then one after the other', async () => {
    const { get, clock, waiting } = await aDaemon({ env: { TENANTRY_LIMITS_PER_ADDRESS: '1' } })
    for (let n = 0; n < 10; n++) expect((await get('/nowhere')).status).toBe(404)
    const paced = get('/nowhere')
    await waiting(1)
    await clock.advance(3000)
    expect((await paced).status).toBe(404)
  })

  test('logs in five times a second; those beyond wait for their turn, and are refused beyond the buffer', async () => {
    const { login, anna, clock, waiting } = await aDaemon({ env: { TENANTRY_LIMITS_LOGIN_BUFFER: '2' } })
    for (let n = 0; n < 5; n++) expect((await login(anna)).status).toBe(200)
    const [sixth, seventh] = [login(anna), login(anna)]
    await waiting(2)
    const eighth = await login(anna)
    expect(eighth).toMatchObject({ status: 429, code: 'RATE_LIMITED' })
    await clock.advance(400)
    expect((await Promise.all([sixth, seventh])).map(({ status }) => status)).toEqual([200, 200])
  })

  test('is what a trusted proxy says; what anybody else says is passed over', async () => {
    const few = { TENANTRY_LIMITS_LOGINS_PER_ADDRESS: '1', TENANTRY_LIMITS_LOGIN_BUFFER: '0' }
    const behindProxy = await aDaemon({ env: few, trustedProxies: ['127.0.0.1'] })
    const from = async (forwardedFor: string) => (await behindProxy.login(behindProxy.anna, { forwardedFor })).status
    expect([await from('192.0.2.1'), await from('192.0.2.2'), await from('192.0.2.1')]).toEqual([200, 200, 429])
    expect([await from('6.6.6.6, 192.0.2.3'), await from('7.7.7.7, 192.0.2.3')]).toEqual([200, 429])
    expect([await from('2001:db8::1'), await from('2001:db8:0:0:ffff::2'), await from('2001:db8:0:1::1')]).toEqual([200, 429, 200])
    const bare = await aDaemon({ env: few })
    const pretends = async (forwardedFor: string) => (await bare.login(bare.anna, { forwardedFor })).status
    expect([await pretends('192.0.2.1'), await pretends('192.0.2.2')]).toEqual([200, 429])
  })
})

describe('an event stream', () => {
  test('of a known user does not count against its address, and of a stranger does', async () => {
    const { stream, anna, get } = await aDaemon({ env: { TENANTRY_LIMITS_PER_ADDRESS: '3' } })
    for (let n = 0; n < 12; n++) expect((await stream(anna)).text).toContain(': open')
    const strangers = await Promise.all(Array.from({ length: 8 }, () => get('/api/platform/v1/stream', { authorization: 'Bearer x' })))
    expect(strangers.map(({ status }) => status).sort()).toEqual([401, 401, 401, 401, 401, 401, 429, 429])
    expect((await stream(anna)).text).toContain(': open')
  })

  test('opens when the budget of its tenant is used up, and does not use it up', async () => {
    const { stream, work, anna } = await aDaemon()
    for (let n = 0; n < 10; n++) await stream(anna)
    expect(said(await work(anna))).toEqual(['10', '9', undefined])
  })

  test('that a user opens over and over counts, and then says when to come again, in an answer that ends no EventSource', async () => {
    const { stream, get, anna, clock } = await aDaemon({ env: { TENANTRY_LIMITS_LIGHT: '1' } })
    for (let n = 0; n < 21; n++) await stream(anna)
    const later = await stream(anna)
    expect(later).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
    })
    expect(later.text).toMatch(/^retry: \d+\n: RATE_LIMITED\n\n$/)
    const retryMs = Number(/\d+/.exec(later.text)?.[0])
    expect(retryMs >= 60_000 && retryMs <= 64_000).toBe(true)
    // Other clients get the problem.
    const plain = await get('/api/platform/v1/stream', { authorization: `Bearer ${anna}` })
    expect(plain).toMatchObject({ status: 429, code: 'RATE_LIMITED', headers: { 'retry-after': '60' } })
    await clock.advance(60_000)
    expect((await stream(anna)).text).toContain(': open')
  })

  test('is refused for good without a good token', async () => {
    const { stream } = await aDaemon()
    expect(await stream('x')).toMatchObject({ status: 401, code: 'UNAUTHENTICATED' })
  })
})
