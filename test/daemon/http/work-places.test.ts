import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Bound, type Cost, type EndpointShape, endpoint, platform } from '../../../src/core/contract/index.ts'
import { manualClock, type PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { serve } from '../../../src/daemon/http/index.ts'
import { type Caller, callerOf, workPlaces } from '../../../src/daemon/http/work-places.ts'
import { aSmallApp } from '../../support/small-app.ts'

const user = (name: string, tenant = name): Caller => ({ name, tenant })

/** Calls of the class `export` with the given bound, in the order in which they began. */
function aRoom(bound: Omit<Bound, 'work'>) {
  const clock = manualClock()
  const places = workPlaces({ clock }, { export: { work: 'reads', ...bound } } as Record<Cost, Bound>)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const call = async (name: string, caller: Caller, signal?: AbortSignal) => {
    const end = await places.enter('export', caller, signal && (() => signal))
    begun.push(name)
    ends.set(name, end)
  }
  /** The code of its problem. */
  const refused = (name: string, caller: Caller) =>
    call(name, caller).then(
      () => 'begun',
      ({ code }) => code,
    )
  const end = async (name: string) => {
    ends.get(name)?.()
    await new Promise(setImmediate)
  }
  return { clock, begun, call, refused, end }
}

test('tenants get free places in rotation, however many calls of one wait', async () => {
  const { begun, call, end } = aRoom({ perCaller: 9, parallel: 1, waiting: 9 })
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map((name) => call(name, user(name.slice(0, 1))))
  await new Promise(setImmediate)
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'a4']) await end(name)
  await Promise.all(all)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a4'])
})

test('a caller has its share; a full queue refuses who has most calls in it, and at equal shares the new one', async () => {
  const { refused, call, end, begun } = aRoom({ perCaller: 3, parallel: 1, waiting: 2 })
  await call('a1', user('a'))
  const second = refused('a2', user('a'))
  const third = refused('a3', user('a'))
  expect(await refused('a4', user('a'))).toBe('RATE_LIMITED')
  const other = refused('b1', user('b'))
  expect(await third).toBe('UNAVAILABLE')
  expect(await refused('c1', user('c'))).toBe('UNAVAILABLE')
  await end('a1')
  await end('a2')
  expect([await second, await other, begun]).toEqual(['begun', 'begun', ['a1', 'a2', 'b1']])
})

test('a waiting call ends in time, and with its caller', async () => {
  const { clock, call, refused, end } = aRoom({ perCaller: 9, parallel: 1, waiting: 2, maxWaitSeconds: 10 })
  await call('a1', user('a'))
  const left = new AbortController()
  const late = refused('b1', user('b'))
  const gone = call('c1', user('c'), left.signal)
  left.abort()
  await expect(gone).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  await clock.advance(10_000)
  expect(await late).toBe('UNAVAILABLE')
  await end('a1')
  expect(await refused('d1', user('d'))).toBe('begun')
})

test('a tenant takes no more places than it leaves free; a freed place goes to all that may have one now', async () => {
  const { call, begun, end } = aRoom({ perCaller: 99, parallel: 8, perTenant: 4, waiting: 99 })
  for (const tenant of ['a', 'b', 'c', 'd']) for (let n = 0; n < 6; n += 1) void call(`${tenant}${n}`, user(tenant))
  await new Promise(setImmediate)
  const counts = () => ['a', 'b', 'c', 'd'].map((tenant) => begun.filter((name) => name.startsWith(tenant)).length)
  expect(counts()).toEqual([4, 2, 1, 1])
  for (const name of begun) await end(name) // the list grows
  expect(begun).toHaveLength(24)
})

test('of one tenant and in one minute no more than the bound', async () => {
  const { clock, refused, end } = aRoom({ perCaller: 9, parallel: 4, perTenant: 1, perMinute: 3, waiting: 9 })
  const calls = ['a1', 'a2', 'a3'].map((name) => refused(name, user('anna', 'school')))
  expect(await refused('a4', user('anna', 'school'))).toBe('RATE_LIMITED')
  expect(await refused('b1', user('ben', 'office'))).toBe('begun')
  for (const name of ['a1', 'a2', 'a3']) await end(name)
  expect(await Promise.all(calls)).toEqual(['begun', 'begun', 'begun'])
  await clock.advance(20_000)
  expect(await refused('a4', user('anna', 'school'))).toBe('begun')
})

test('a user shares with the tenant, a token with its account, an unknown client with its network', () => {
  const one = { kind: 'user', userId: 'usr_1', tenantId: 'ten_1' } as unknown as PlatformPrincipal
  expect(callerOf(one, '10.0.0.1')).toEqual({ name: 'ten_1 usr_1', tenant: 'ten_1' })
  const token = { kind: 'token', tokenId: 'tok_1', accountId: 'acc_1', name: 'ci', role: 'viewer' } as const
  expect(callerOf(token, '10.0.0.1')).toEqual({ name: 'acc_1', tenant: 'acc_1' })
  expect(callerOf(undefined, '2001:db8::1')).toEqual(callerOf(undefined, '2001:db8::2'))
})

test('an unknown client with many addresses of one network leaves places to others', async () => {
  const { refused, call, end } = aRoom({ perCaller: 2, parallel: 1, waiting: 3 })
  await call('a0', callerOf(undefined, '2001:db8::1'))
  const waiting = [1, 2, 3].map((n) => refused(`a${n}`, callerOf(undefined, `2001:db8:0:${n}::1`)))
  const other = refused('b', callerOf(undefined, '203.0.113.7'))
  expect(await waiting[2]).toBe('UNAVAILABLE')
  for (const name of ['a0', 'a1']) await end(name)
  expect(await other).toBe('begun')
})

test('a call of a bounded class waits for its place, and one too many is answered with 429 or 503 and Retry-After', async () => {
  const shape = { method: 'GET', auth: platform(), cost: 'export', returns: z.object({}), summary: 'Exports' } as const
  const exported = endpoint({ ...shape, path: '/export' } as const satisfies EndpointShape)
  const ends: (() => void)[] = []
  const names = Array.from({ length: 20 }, (_, n) => `u${n}`)
  const users = Object.fromEntries(
    names.map((name) => [name, { kind: 'user', userId: name, tenantId: name, capabilities: [] } as unknown as PlatformPrincipal]),
  )
  const { url } = await aSmallApp([serve(exported, () => new Promise<Record<string, never>>((done) => ends.push(() => done({}))))], users)
  const ask = (name: string) => fetch(`${url}/export`, { headers: { authorization: `Bearer ${name}` } })
  const first = ask('u0')
  await expect.poll(() => ends.length).toBe(1)
  const again = ask('u0')
  const other = ask('u1')
  await expect.poll(() => ends.length).toBe(2)
  const third = await ask('u0')
  expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1'])
  const waiting = names.slice(2, 17).map(ask)
  await expect.poll(async () => (await ask('u18')).status).toBe(503)
  const full = await ask('u19')
  expect([full.status, full.headers.get('retry-after'), ends.length]).toEqual([503, '5', 2])
  const all = Promise.all([first, again, other, ...waiting])
  const timer = setInterval(() => ends.splice(0).forEach((end) => void end()), 1)
  expect((await all).every(({ status }) => status === 200)).toBe(true)
  clearInterval(timer)
})
