import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { aReplica, aToken, type HearingClient, happen, happened, type Members, until } from '../../support/event-world.ts'

const world = async (members?: Members) => {
  const clock = manualClock()
  return { ...aReplica((await emptyDatabase('sqlite')).db, clock, members), clock }
}
type World = Awaited<ReturnType<typeof world>>

/** Polls as the daemon does every second, and waits until the topic has all stored events. */
const told = async ({ bus }: World) => {
  await bus.poll()
  await until('nothing is left to tell', () => bus.isIdle())
}

test('the first block has the retry time and the position, so that a disconnect before the first event loses none', async () => {
  const one = await world()
  await happened(one)
  const client = await one.connect()
  expect(client.blocks[0]).toMatch(/^retry: \d{4}\nid: 1\nevent: position\ndata: \{.*\}$/)
  client.end()
  await happened(one)
  const again = await one.connect(aToken(), client.lastEventId)
  await until('it has caught up', () => again.seqs.length === 1)
  expect(again.seqs).toEqual([2])
})

const delayOf = ({ text }: HearingClient) => Number([...text.matchAll(/^retry: (\d+)$/gm)].at(-1)?.[1])

test('clients reconnect within six seconds, but those of a crowded address within a time that grows with it', async () => {
  const one = await world()
  const ofAddress = (address: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, n) => one.connect(aToken({ userId: `${address} ${n}` }), undefined, address)))
  const few = await ofAddress('192.0.2.1', 20)
  expect(new Set(few.map(delayOf)).size).toBeGreaterThan(10)
  for (const client of few) expect(delayOf(client) >= 2000 && delayOf(client) < 6000).toBe(true)
  const many = await ofAddress('192.0.2.2', 800)
  // Those that came first were alone then: their next keep-alive has the new delay.
  for (const client of [...few, ...many]) client.keepAlive()
  const delays = many.map(delayOf).toSorted((a, b) => a - b)
  expect(delays.at(-1)).toBeGreaterThan(10_500)
  expect(delays.at(-1)).toBeLessThan(12_000)
  for (let n = 0; n + 200 < 800; n += 100) expect((delays[n + 200] as number) - (delays[n] as number)).toBeGreaterThan(1000)
  for (const client of few) expect(delayOf(client)).toBeLessThan(6000)
})

test('a former member of a space gets no replay of its events', async () => {
  const members: Members = new Map([['class', new Set(['u1'])]])
  const one = await world(members)
  await happened(one, { audience: { spaces: ['class'] } })
  members.set('class', new Set())
  await happened(one, { type: 'user.left', payload: { userId: 'u1' }, audience: { spaces: ['class'], users: ['u1'] } })
  const client = await one.connect(aToken(), '0')
  await until('it has caught up', () => client.seqs.length > 0)
  expect(client.seqs).toEqual([2])
})

test('a long absence is replayed in pages, at the pace of the client, and new events follow', async () => {
  const one = await world()
  await one.db.transaction().execute(async (tx) => {
    for (let n = 0; n < 1203; n++) await happen(tx, one.clock)
  })
  const client = await one.connect(aToken(), '1')
  client.pause()
  await until('the first page is out', () => client.seqs.length > 0)
  const first = client.seqs.length
  await happened(one)
  await told(one)
  expect(client.seqs.length).toBe(first)
  expect(first).toBeLessThan(1202)
  client.take()
  await until('it has caught up', () => client.seqs.at(-1) === 1204)
  await happened(one)
  await told(one)
  expect(client.seqs).toEqual(Array.from({ length: 1204 }, (_, n) => n + 2))
})

test.each(['7', '999999999999999', 'abc', '-1', "1' or '1'='1"])(
  'an invalid id %j gets a reset, and the stream continues from now',
  async (lastEventId) => {
    const one = await world()
    await happened(one)
    const client = await one.connect(aToken(), lastEventId)
    await happened(one)
    await told(one)
    expect(client.told.map(({ id, event, data }) => [id, event, data?.reason])).toEqual([
      [1, 'reset', 'unknown'],
      [2, 'space.changed', undefined],
    ])
  },
)

test('a keep-alive moves the position of a client past events for others', async () => {
  const one = await world()
  const client = await one.connect()
  await happened(one, { audience: { users: ['somebody else'] } })
  await told(one)
  expect([client.seqs, client.lastEventId]).toEqual([[], '0'])
  client.keepAlive()
  expect([client.seqs, client.lastEventId]).toEqual([[], '1'])
})

test('a keep-alive of a client that lags moves nothing', async () => {
  const one = await world()
  for (let n = 0; n < 3; n++) await happened(one)
  const client = await one.connect(aToken(), '1')
  client.keepAlive()
  expect(client.lastEventId).toBe('1')
})

test('the eleventh stream of a user ends the oldest, which comes back later than others', async () => {
  const one = await world()
  const clients = []
  for (let n = 0; n < 10; n++) clients.push(await one.connect(aToken({ sessionId: `s${n}` })))
  const other = await one.connect(aToken({ userId: 'somebody else' }))
  const eleventh = await one.connect()
  expect(clients.map(({ closed }) => closed)).toEqual([true, ...Array.from({ length: 9 }, () => false)])
  expect(clients[0]?.blocks.at(-1)).toBe('retry: 60000')
  expect([other.closed, eleventh.closed, one.streams.count()]).toEqual([false, false, 11])
})

test('of eleven concurrent requests ten streams remain', async () => {
  const one = await world()
  await Promise.all(Array.from({ length: 11 }, () => one.connect()))
  expect(one.streams.count()).toBe(10)
})

test('a stream ends when its token expires, by the wall clock', async () => {
  const one = await world()
  const endsMs = one.clock.now().getTime() + 3_600_000
  const client = await one.connect(aToken({ expiresAtMs: endsMs }))
  await one.clock.advance(3_599_999)
  one.streams.endExpired()
  expect(client.closed).toBe(false)
  await one.clock.advance(1)
  one.streams.endExpired()
  expect([client.closed, one.streams.count(), one.bus.topics()]).toEqual([true, 0, 0])
})

const losses = [
  ['its session', { kind: 'user-session', subject: 's1' }],
  ['its user', { kind: 'user', subject: 'u1' }],
  ['its tenant', { kind: 'tenant', subject: 't1' }],
  ['who knows what, since revocations could not be read', 'everything'],
] as const

test.each(losses)('a stream ends when %s is revoked, and sends nothing from then on', async (_, revoked) => {
  const one = await world()
  const client = await one.connect()
  await happened(one)
  await told(one)
  one.refused.add('s1')
  one.revocations.tell(revoked)
  await happened(one)
  await told(one)
  await until('it has ended', () => client.closed)
  expect(client.seqs).toEqual([1])
})

test('revocations of others end no stream, and a refuted doubt neither loses nor repeats events', async () => {
  const one = await world()
  const client = await one.connect()
  const doubts = ['everything', { kind: 'user', subject: 'u1' }, { kind: 'user-session', subject: 'another' }] as const
  for (const [n, revoked] of doubts.entries()) {
    await happened(one)
    one.revocations.tell(revoked)
    await happened(one)
    await told(one)
    await until('it was told', () => client.seqs.length === 2 * n + 2)
  }
  expect([client.closed, client.seqs]).toEqual([false, [1, 2, 3, 4, 5, 6]])
})

test('a session that ended between guard and stream gets no event', async () => {
  const one = await world()
  await happened(one)
  one.refused.add('s1') // and nobody is told of it again
  const client = await one.connect(aToken(), '0')
  await until('it has ended', () => client.closed)
  expect(client.seqs).toEqual([])
})

test('a change of roles takes effect within the open stream', async () => {
  const one = await world()
  const client = await one.connect()
  await happened(one, { audience: { capability: 'manageUsers' } })
  await told(one)
  one.rights.set('u1', ['manageUsers'])
  one.revocations.tell({ kind: 'user', subject: 'u1' })
  await happened(one, { audience: { capability: 'manageUsers' } })
  await told(one)
  await until('it was told', () => client.seqs.length > 0)
  expect(client.seqs).toEqual([2])
})

test('nothing is sent while the revocations cannot be read', async () => {
  const one = await world()
  const client = await one.connect()
  await happened(one)
  one.revocations.isFresh = false
  await told(one)
  expect([one.revocations.readAgain, client.seqs]).toEqual([1, [1]])
})

test('a database outage ends no stream, and its events are sent afterwards', async () => {
  const one = await world()
  const client = await one.connect()
  await happened(one)
  one.revocations.readNow = () => Promise.reject(new Error('the database does not answer'))
  one.revocations.isFresh = false
  await told(one)
  expect([client.closed, client.seqs]).toEqual([false, []])
  one.revocations.isFresh = true
  await told(one)
  expect(client.seqs).toEqual([1])
})

test('a disconnect releases everything', async () => {
  const one = await world()
  const client = await one.connect()
  expect(one.bus.topics()).toBe(1)
  client.end()
  expect([one.bus.topics(), one.streams.count()]).toEqual([0, 0])
})
