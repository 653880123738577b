import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { readEventStream } from '../../../src/core/contract/event-stream.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { eventsRoutes } from '../../../src/daemon/events/index.ts'
import { buildApp, makeMetrics } from '../../../src/daemon/http/index.ts'
import { tenantBySlug } from '../../../src/daemon/tenants/index.ts'
import { silentLogger, systemRandom } from '../../../src/node/index.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReplica, aToken, happen, happened, principalOf, until } from '../../support/event-world.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close()
})

const tenantIdOf = async (db: Db, slug: string) => (await tenantBySlug(db, slug))?.id

async function server() {
  const clock = manualClock()
  const { db } = await emptyDatabase('sqlite')
  const one = { ...aReplica(db, clock), clock }
  const draining = new AbortController()
  const refuse = () => Promise.reject(problem('UNAUTHENTICATED', 'nobody'))
  const operator = { stands: true, role: anOperator.role as 'operator' | 'viewer' | 'reviewer' }
  const app = buildApp(eventsRoutes({ ...one, tenantIdOf }), {
    authenticate: {
      admin: async () => (operator.stands ? { ...anOperator, role: operator.role } : refuse()),
      agent: refuse,
      platform: async (authorization) => principalOf(authorization ?? ''),
    },
    clock,
    random: systemRandom,
    log: silentLogger(),
    metrics: makeMetrics(),
    draining: draining.signal,
    trustedProxies: [],
  })
  const listening = app.listen(0, '127.0.0.1')
  closing.push(
    () => listening.closeAllConnections(),
    () => void listening.close(),
  )
  await new Promise((ready) => listening.once('listening', ready))
  return { ...one, draining, operator, url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}` }
}

const path = '/api/platform/v1/events/stream'

/** A client on a real socket. */
async function listener(url: string, headers: Record<string, string> = {}) {
  const heard = { text: '', ended: false, cut: false }
  const asked: ClientRequest = get(url, { headers: { authorization: aToken(), 'accept-encoding': 'gzip, br', ...headers } })
  closing.push(() => asked.destroy())
  const answer = await new Promise<IncomingMessage>((come, fail) => asked.once('response', come).once('error', fail))
  asked.on('error', () => undefined)
  answer.on('end', () => Object.assign(heard, { ended: true })).on('error', () => Object.assign(heard, { cut: true }))
  const hear = () => answer.resume().on('data', (bytes) => Object.assign(heard, { text: heard.text + String(bytes) }))
  return { answer, asked, heard, hear }
}

test.each([path, '/api/platform/v1/workflow/events/stream', '/platform/v1/workflow/events/stream'])('%s is the stream', async (at) => {
  const one = await server()
  const { answer, heard, hear } = await listener(`${one.url}${at}`)
  hear()
  await until('it said hello', () => heard.text.includes('retry:'))
  expect(heard.text.startsWith(': open\n\n')).toBe(true)
  expect(answer.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  expect(answer.headers['content-encoding']).toBeUndefined()
  // No chunked framing: the response ends with its connection.
  expect([answer.headers['transfer-encoding'], answer.headers.connection]).toEqual([undefined, 'close'])
  await happened(one)
  await one.bus.poll()
  await until('it heard', () => heard.text.includes('event: space'))
  expect(heard.text).toContain('id: 1\nevent: space.changed\ndata: {"type":"space.changed"')
})

test('HEAD returns the headers alone, and uses no stream slot', async () => {
  const one = await server()
  for (let n = 0; n < 11; n += 1) {
    const signal = AbortSignal.timeout(10_000)
    const answer = await fetch(`${one.url}${path}`, { method: 'HEAD', headers: { authorization: aToken() }, signal })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  }
  expect([one.streams.count(), one.bus.topics(), one.clock.sleepers()]).toEqual([0, 0, 0])
})

test.each([
  ['the header', (id: string) => [path, { 'last-event-id': id }] as const],
  ['the query, as clients send it that set no header', (id: string) => [`${path}?lastEventId=${id}`, {}] as const],
  [
    'the header, if the query has the position that an app began with',
    (id: string) => [`${path}?lastEventId=0`, { 'last-event-id': id }] as const,
  ],
  ['the header, if the query is empty', (id: string) => [`${path}?lastEventId=`, { 'last-event-id': id }] as const],
])('a client that got no event before an outage gets those of it, by %s', async (_, again) => {
  const one = await server()
  await happened(one)
  const answer = await fetch(`${one.url}${path}`, { headers: { authorization: aToken() } })
  let position: string | undefined
  for await (const { id } of readEventStream(answer.body as ReadableStream<Uint8Array>)) {
    position = id
    break
  }
  await happened(one)
  const [target, headers] = again(position ?? '')
  const { heard, hear } = await listener(`${one.url}${target}`, headers)
  hear()
  await until('it heard', () => heard.text.includes('event: space.changed'))
  expect([...heard.text.matchAll(/^id: (\d+)\nevent: space/gm)].map(([, id]) => id)).toEqual(['2'])
})

test('a keep-alive is sent to all clients every 15 s, and none without clients', async () => {
  const one = await server()
  const [a, b] = [await listener(`${one.url}${path}`), await listener(`${one.url}${path}`)]
  a.hear()
  b.hear()
  await until('both said hello', () => [a, b].every(({ heard }) => heard.text.includes('retry:')))
  expect(one.clock.sleepers()).toBe(1)
  const beats = ({ heard }: typeof a) => heard.text.split(': \n').length - 1
  await one.clock.advance(14_999)
  await one.clock.advance(1)
  await until('both felt it', () => beats(a) === 1 && beats(b) === 1)
  await one.clock.advance(15_000)
  await until('and again', () => beats(a) === 2 && beats(b) === 2)
  a.asked.destroy()
  b.asked.destroy()
  await until('nobody beats', () => one.clock.sleepers() === 0)
})

test('a client that does not read is disconnected; others get every event, and it gets the rest after reconnecting', async () => {
  const one = await server()
  const slow = await listener(`${one.url}${path}`)
  const quick = await listener(`${one.url}${path}`)
  quick.hear()
  slow.answer.pause()
  await until('both are there', () => one.streams.count() === 2)
  const long = 'x'.repeat(8000)
  let stored = 0
  const count = () => quick.heard.text.split('event: space').length - 1
  while (one.streams.count() === 2 && stored < 8000) {
    await one.db.transaction().execute(async (tx) => {
      for (let n = 0; n < 20; n++) await happen(tx, one.clock, { payload: { spaceId: long } })
    })
    stored += 20
    await one.bus.poll()
    await until('the quick one heard', () => count() === stored)
  }
  expect(one.streams.count()).toBe(1)
  slow.hear()
  await until('it is cut', () => slow.heard.cut || slow.heard.ended)
  const whole = slow.heard.text.slice(0, slow.heard.text.lastIndexOf('\n\n') + 2)
  const lastEventId = [...whole.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] as string
  expect(Number(lastEventId)).toBeLessThan(stored)
  const again = await listener(`${one.url}${path}`, { 'last-event-id': lastEventId })
  again.hear()
  await until('it heard the rest', () => again.heard.text.includes(`id: ${stored}\n`), 30_000)
  expect(again.heard.text.split('event: space').length - 1).toBe(stored - Number(lastEventId))
})

test('a draining daemon closes its streams cleanly', async () => {
  const one = await server()
  const { heard, hear } = await listener(`${one.url}${path}`)
  hear()
  await until('it is there', () => one.streams.count() === 1)
  one.draining.abort()
  await until('it has ended', () => heard.ended)
  expect([one.streams.count(), one.bus.topics()]).toEqual([0, 0])
})

test('a stream ends with its token', async () => {
  const one = await server()
  const endsMs = one.clock.now().getTime() + 60_000
  const ending = await listener(`${one.url}${path}`, { authorization: aToken({ expiresAtMs: endsMs }) })
  ending.hear()
  await one.clock.advance(60_000)
  one.streams.endExpired()
  await until('it has ended', () => ending.heard.ended)
})

test('a user whose ten connections were lost gets a further stream, and one of the lost ends', async () => {
  const one = await server()
  const lost: Awaited<ReturnType<typeof listener>>[] = []
  for (let n = 0; n < 10; n++) lost.push(await listener(`${one.url}${path}`))
  for (const { hear } of lost) hear()
  const back = await listener(`${one.url}${path}`)
  back.hear()
  await until('the oldest has ended', () => lost[0]?.heard.ended === true)
  expect([back.answer.statusCode, one.streams.count()]).toEqual([200, 10])
})

const tail = '/api/admin/v1/events/stream'
const numbers = (text: string) => [...text.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq))

test('operators follow stored events of all tenants, from the newest ones, by type, without payloads', async () => {
  const one = await server()
  await happened(one, { payload: { spaceId: 'spc_1' } })
  await happened(one, { payload: { spaceId: 'spc_2', name: 'secret' } })
  await happened(one, { type: 'user.joined', payload: { userId: 'u', spaceId: 'spc_2' } })
  const { heard, hear } = await listener(`${one.url}${tail}?last=1&type=space.*`)
  hear()
  await until('it heard the newest', () => numbers(heard.text).length === 1)
  await happened(one, { tenantId: 't2', audience: { users: ['u'] } })
  await happened(one, { type: 'user.left' })
  await one.clock.advance(1000)
  await until('it heard what came', () => numbers(heard.text).length === 2)
  expect(heard.text.match(/"stream":"[^"]+","seq":\d+/g)).toEqual(['"stream":"tenant:t1","seq":2', '"stream":"tenant:t2","seq":1'])
  expect(heard.text).toContain('"ids":{"spaceId":"spc_2"},"audience":"tenant"')
  expect(heard.text).not.toContain('secret')
  const unknown = await listener(`${one.url}${tail}?tenant=nobody`)
  expect(unknown.answer.statusCode).toBe(404)
})

test('a tail that does not follow ends after the earlier events', async () => {
  const one = await server()
  await happened(one, {})
  await happened(one, {})
  const { heard, hear } = await listener(`${one.url}${tail}?last=1&follow=false`)
  hear()
  await until('it has ended', () => heard.ended)
  expect(numbers(heard.text)).toEqual([2])
})

test('an operator gets all events of a burst, even if slow', async () => {
  const one = await server()
  const [quick, busy] = [await listener(`${one.url}${tail}`), await listener(`${one.url}${tail}`)]
  quick.hear()
  await until('it is there', () => quick.heard.text.includes('open'))
  const [bursts, perBurst] = [3, 3000]
  const all = Array.from({ length: bursts * perBurst }, (_, n) => n + 1)
  const hasAll = ({ heard }: typeof quick) => heard.cut || heard.ended || numbers(heard.text).at(-1) === all.length
  for (let burst = 0; burst < bursts; burst++)
    await one.db.transaction().execute(async (tx) => {
      for (let n = 0; n < perBurst; n++) await happen(tx, one.clock, { payload: { spaceId: `spc_${'x'.repeat(1000)}` } })
    })
  await one.clock.advance(1000)
  await until('the quick one heard the last, or was cut off', () => hasAll(quick), 30_000)
  busy.hear()
  await until('the busy one heard the last, or was cut off', () => hasAll(busy), 30_000)
  for (const { heard } of [quick, busy]) {
    expect([heard.cut, heard.ended]).toEqual([false, false])
    expect(numbers(heard.text)).toEqual(all)
  }
})

test('an operator stream ends within a second of its session, and not before', async () => {
  const one = await server()
  const { heard, hear } = await listener(`${one.url}${tail}`)
  hear()
  await until('it is there', () => heard.text.includes('open'))
  await happened(one)
  await one.clock.advance(1000)
  await until('it heard', () => numbers(heard.text).length === 1)
  expect(heard.ended).toBe(false)
  one.operator.stands = false
  await one.clock.advance(250)
  await until('it has ended', () => heard.ended)
  await happened(one)
  await one.clock.advance(1000)
  expect(numbers(heard.text)).toEqual([1])
})

test('a reconnecting operator gets all events stored since, in order, however many', async () => {
  const one = await server()
  const since = one.clock.now().toISOString()
  for (const tenantId of ['t1', 't2'])
    await one.db.transaction().execute(async (tx) => {
      for (let n = 0; n < 600; n++) await happen(tx, one.clock, { tenantId })
    })
  await one.clock.advance(1)
  await happened(one)
  const { heard, hear } = await listener(`${one.url}${tail}?since=${since}`)
  hear()
  await until('it heard the last', () => numbers(heard.text).length === 1201)
  const all = Array.from({ length: 600 }, (_, n) => n + 1)
  expect(numbers(heard.text)).toEqual([...all, ...all, 601])
})
