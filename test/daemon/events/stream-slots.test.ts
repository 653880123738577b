import { expect, test } from 'vitest'
import { isoNow, manualClock } from '../../../src/core/kit/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aReplica, aToken, type HearingClient, type Replica, until } from '../../support/event-world.ts'

async function twoReplicas(db: Db) {
  const clock = manualClock()
  const at = isoNow(clock)
  const tenant = {
    id: 't1',
    slug: 'acme',
    name: 'acme',
    chat_domain: 'acme.example',
    plan: 'light',
    status: 'active',
    created_at: at,
  } as const
  await db
    .insertInto('tenants')
    .values({ ...tenant, feature_flags: '{}' } as never)
    .execute()
  const user = { id: 'u1', tenant_id: 't1', localpart: 'anna', roles: '[]', status: 'active', created_at: at, updated_at: at } as const
  await db
    .insertInto('users')
    .values(user as never)
    .execute()
  return { db, clock, one: aReplica(db, clock), other: aReplica(db, clock, new Map(), 'replica_2') }
}

async function connected(replica: Replica, count: number): Promise<HearingClient[]> {
  const clients: HearingClient[] = []
  for (let n = 0; n < count; n++) clients.push(await replica.connect())
  return clients
}

async function heldBy(db: Db, replica: string): Promise<number> {
  const rows = await db.selectFrom('stream_places').select('open').where('replica', '=', replica).execute()
  return rows.reduce((sum, { open }) => sum + Number(open), 0)
}

onBothDialects('stream slots', (fresh) => {
  test('a user has ten streams over all replicas: a further one ends the oldest, wherever they are', async () => {
    const { one, other } = await twoReplicas(await fresh())
    const lost = await connected(one, 10)
    await other.connect(aToken({ userId: 'somebody else' }))
    const back = await connected(other, 3)
    // The first replica learns of it when it renews its lease.
    await one.streams.keepPlaces()
    expect(lost.map(({ closed }) => closed)).toEqual(Array.from({ length: 10 }, (_, n) => n < 3))
    expect(back.map(({ closed }) => closed)).toEqual([false, false, false])
    const more = await connected(other, 10)
    await one.streams.keepPlaces()
    expect([one.streams.count(), other.streams.count()]).toEqual([0, 11])
    expect([...back, ...more].map(({ closed }) => closed)).toEqual(Array.from({ length: 13 }, (_, n) => n < 3))
  })

  test('of thirty concurrent requests at two replicas ten streams remain', async () => {
    const { db, one, other } = await twoReplicas(await fresh())
    await Promise.all(Array.from({ length: 30 }, (_, n) => (n % 2 ? one : other).connect()))
    for (const replica of [one, other]) await replica.streams.keepPlaces()
    expect(one.streams.count() + other.streams.count()).toBe(10)
    expect((await heldBy(db, 'replica_1')) + (await heldBy(db, 'replica_2'))).toBe(10)
  })

  test('a dead replica releases its slots, a live one keeps them', async () => {
    const { db, clock, one, other } = await twoReplicas(await fresh())
    await connected(one, 7)
    await connected(other, 3)
    for (let n = 0; n < 4; n++) {
      await clock.advance(10_000)
      await other.streams.keepPlaces()
    }
    const clients = await connected(other, 7) // the first was not heard of for 40 s
    expect(clients.map(({ closed }) => closed)).toEqual([false, false, false, false, false, false, false])
    await other.connect()
    expect(other.streams.count()).toBe(10)
    await clock.advance(6 * 60_000)
    await other.streams.keepPlaces()
    expect(await heldBy(db, 'replica_1')).toBe(0)
    expect(await heldBy(db, 'replica_2')).toBe(10)
  })

  test('a replica wrongly counted as dead records its slots again', async () => {
    const { db, clock, one, other } = await twoReplicas(await fresh())
    await connected(one, 4)
    await other.streams.keepPlaces()
    await clock.advance(6 * 60_000)
    await other.streams.keepPlaces()
    expect(await heldBy(db, 'replica_1')).toBe(0)
    await one.streams.keepPlaces()
    expect(await heldBy(db, 'replica_1')).toBe(4)
  })

  test('a failed release of a slot is retried later', async () => {
    const { db, one } = await twoReplicas(await fresh())
    const clients = await connected(one, 3)
    await db.schema.alterTable('stream_places').renameTo('away').execute()
    for (const client of clients) client.end()
    await expect(one.connect()).rejects.toThrow()
    await db.schema.alterTable('away').renameTo('stream_places').execute()
    expect(await heldBy(db, 'replica_1')).toBe(3)
    await one.streams.keepPlaces()
    expect(await heldBy(db, 'replica_1')).toBe(0)
    await connected(one, 10)
    await until('all are there', () => one.streams.count() === 10)
  })
})
