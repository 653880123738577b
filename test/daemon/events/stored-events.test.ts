import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { forgetEvents, recordForTenants } from '../../../src/daemon/events/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aReplica, aToken, happened, type Members, until } from '../../support/event-world.ts'

onBothDialects('stored events', (fresh) => {
  const world = async (members?: Members) => {
    const clock = manualClock()
    return { ...aReplica(await fresh(), clock, members), clock }
  }
  type World = Awaited<ReturnType<typeof world>>

  /** Polls as the daemon does every second, and waits until the topic has all stored events. */
  const told = async ({ bus }: World) => {
    await bus.poll()
    await until('nothing is left to tell', () => bus.isIdle())
  }

  test('a client gets each event stored after it connected, with number, type and ids', async () => {
    const one = await world()
    await happened(one)
    const client = await one.connect()
    await happened(one, { type: 'user.joined', payload: { userId: 'u7', name: 'Anna' } })
    await told(one)
    expect(client.told).toEqual([
      {
        id: 2,
        event: 'membership.changed',
        data: { type: 'membership.changed', at: '2026-01-05T02:00:00.000Z', ids: { userId: 'u7', spaceId: 's1' } },
      },
    ])
  })

  test('events of another tenant are not sent here, even with the same numbers', async () => {
    const one = await world()
    const here = await one.connect(aToken({ tenantId: 't1' }))
    const there = await one.connect(aToken({ tenantId: 't2', userId: 'u2' }))
    await happened(one, { tenantId: 't1', payload: { spaceId: 'of t1' } })
    await happened(one, { tenantId: 't2', payload: { spaceId: 'of t2' } })
    await told(one)
    expect(here.told.map(({ data }) => data?.ids)).toEqual([{ spaceId: 'of t1' }])
    expect(there.told.map(({ data }) => data?.ids)).toEqual([{ spaceId: 'of t2' }])
  })

  test.each([0, 50, 51, 120])('an event for each of %i tenants is stored once for each', async (count) => {
    const { db, clock } = await world()
    const tenants = Array.from({ length: count }, (_, n) => `t${String(n).padStart(3, '0')}`)
    const eventsAfter = async (after: string, limit: number) =>
      tenants
        .filter((tenantId) => tenantId > after)
        .slice(0, limit)
        .map((tenantId) => ({
          tenantId,
          type: 'marketplace.item_changed' as const,
          payload: { itemId: 'i' },
          audience: 'tenant' as const,
        }))
    await recordForTenants({ db, clock }, eventsAfter, undefined)
    const stored = await db.selectFrom('events').select('tenant_id').orderBy('tenant_id').execute()
    expect(stored.map(({ tenant_id }) => tenant_id)).toEqual(tenants)
  })

  test('an event is sent to its audience only, live and on replay', async () => {
    const one = await world(new Map([['class', new Set(['member'])]]))
    const tokens = {
      member: aToken({ userId: 'member' }),
      named: aToken({ userId: 'named' }),
      manager: aToken({ userId: 'manager', capabilities: ['manageModules'] }),
      stranger: aToken({ userId: 'stranger' }),
    }
    const live = Object.entries(tokens).map(async ([who, token]) => [who, await one.connect(token)] as const)
    const clients = new Map(await Promise.all(live))
    await happened(one, { audience: { spaces: ['class'] } })
    await happened(one, { audience: { users: ['named'] } })
    await happened(one, { audience: { capability: 'manageModules' } })
    await happened(one, { audience: { spaces: ['class'], users: ['named'] } })
    await happened(one, { audience: 'tenant' })
    await told(one)
    const expected = { member: [1, 4, 5], named: [2, 4, 5], manager: [3, 5], stranger: [5] }
    for (const [who, seqs] of Object.entries(expected)) {
      expect([who, clients.get(who)?.seqs]).toEqual([who, seqs])
      const replayed = await one.connect(tokens[who as keyof typeof tokens], '0')
      await until(`${who} has caught up`, () => replayed.seqs.at(-1) === 5)
      expect([who, replayed.seqs]).toEqual([who, seqs])
    }
  })

  test('an id published by another replica first is known here', async () => {
    const one = await world()
    const early = await one.connect()
    await happened(one) // not looked for yet: nobody here was told
    const client = await one.connect(aToken(), '1')
    await happened(one)
    await told(one)
    expect(client.told.map(({ id, event }) => [id, event])).toEqual([[2, 'space.changed']])
    expect(early.seqs).toEqual([1, 2])
  })

  test('a cursor older than the retention gets a reset', async () => {
    const one = await world()
    for (let n = 0; n < 3; n++) await happened(one)
    await one.clock.advance(91 * 86_400_000)
    for (let n = 0; n < 2; n++) await happened(one)
    expect(await forgetEvents(one, new AbortController().signal)).toBe('3 events of tenants and of the fleet')
    const old = await one.connect(aToken(), '2')
    const whole = await one.connect(aToken(), '3')
    await until('both have caught up', () => old.seqs.length > 0 && whole.seqs.length > 1)
    expect(old.told.map(({ id, event, data }) => [id, event, data?.reason])).toEqual([[5, 'reset', 'too_old']])
    expect(whole.seqs).toEqual([4, 5])
  })

  test('deleted events leave no gap, even if the clocks of replicas differ', async () => {
    const one = await world()
    await happened(one)
    await happened({ ...one, clock: manualClock('2026-01-05T05:00:00.000Z') })
    await happened(one)
    await happened({ ...one, clock: manualClock('2026-01-05T05:00:00.000Z') })
    await one.clock.advance(90 * 86_400_000 + 1000)
    expect(await forgetEvents(one, new AbortController().signal)).toBe('3 events of tenants and of the fleet')
    const client = await one.connect(aToken(), '3')
    await until('it has caught up', () => client.seqs.length > 0)
    expect(client.seqs).toEqual([4])
  })

  test('each cleanup continues where the last one ended, and finds all old events', async () => {
    const one = await world()
    const day = (n: number) => new Date(Date.UTC(2020, 0, n)).toISOString()
    const rows = Array.from({ length: 1040 }, (_, n) => ({
      ...{ stream: `tenant:ten_${n}`, seq: 1, source: 'core', event_type: 'space.changed', payload: '{}' },
      ...{ created_at: day(n < 900 ? 1 : 2 + n), tenant_id: null, audience: null },
    }))
    for (const from of [0, 500, 1000])
      await one.db
        .insertInto('events')
        .values(rows.slice(from, from + 500))
        .execute()
    const looks: string[] = []
    const watched = one.db.withPlugin({
      transformQuery: ({ node }) => {
        if (node.kind === 'SelectQueryNode' && JSON.stringify(node).includes('"oldest"')) looks.push(JSON.stringify(node))
        return node
      },
      transformResult: async ({ result }) => result,
    })
    expect(await forgetEvents({ ...one, db: watched }, new AbortController().signal)).toBe('1040 events of tenants and of the fleet')
    expect(looks.map((look) => [day(2 + 999), day(2 + 1039)].map((at) => look.includes(at)))).toEqual([
      [false, false],
      [true, false],
      [false, true],
    ])
  })

  test('events of rollouts have their own retention', async () => {
    const one = await world()
    const row = { seq: 1, source: 'rollouts', event_type: 'rollout.created', payload: '{}', created_at: '2020-01-01T00:00:00.000Z' }
    await one.db
      .insertInto('events')
      .values({ ...row, stream: 'rollout:r1', tenant_id: null, audience: null })
      .execute()
    expect(await forgetEvents(one, new AbortController().signal)).toBe('0 events of tenants and of the fleet')
  })
})
