import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { makeClient } from '../../../../src/core/contract/index.ts'
import { isoNow, manualClock } from '../../../../src/core/kit/index.ts'
import { moduleServicesContract } from '../../../../src/core/module-services/index.ts'
import type { Db } from '../../../../src/daemon/db/index.ts'
import { forgetEvents, recordEvent } from '../../../../src/daemon/events/index.ts'
import { moduleServicesFeature } from '../../../../src/daemon/modules/index.ts'
import { RunCounts } from '../../../../src/daemon/modules/run-counts.ts'
import { openServiceCalls } from '../../../../src/daemon/modules/services/call-service.ts'
import { openConnections } from '../../../../src/daemon/modules/services/connections.ts'
import type { DeliveryDeps } from '../../../../src/daemon/modules/services/deliver-event.ts'
import { deliverToService } from '../../../../src/daemon/modules/services/deliver-events.ts'
import { dueServices } from '../../../../src/daemon/modules/services/due-services.ts'
import { findUpstream, newSecret, openSecret, sealSecret, storeUpstream } from '../../../../src/daemon/modules/services/upstreams.repo.ts'
import { egressRules, silentLogger, systemRandom } from '../../../../src/node/index.ts'
import { aKeyring } from '../../../support/admin-world.ts'
import { anOperator } from '../../../support/boxes-world.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { servedApp } from '../../../support/served-app.ts'

type Got = Readonly<{ id: string; type: string; seq: number; tenantId: string; body: Record<string, unknown> }>
type Reply = Readonly<{ status: number; body?: string }>

/** A real service: checks each signature, answers as it is told, and remembers what it took. */
async function aService(secretOf: () => string, reply: (got: Got) => Reply | 'hang up') {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const id = String(request.headers['webhook-id'])
    const at = new Date(Number(request.headers['webhook-timestamp']) * 1000)
    if (new Webhook(secretOf()).sign(id, at, text) !== request.headers['webhook-signature']) return void response.writeHead(401).end()
    const { type, data } = JSON.parse(text)
    const one = { id, type, seq: data.seq, tenantId: data.tenantId, body: data }
    const answer = reply(one)
    if (answer === 'hang up') return void request.socket.destroy()
    if (answer.status < 300) got.push(one)
    response.writeHead(answer.status).end(answer.body)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, got }
}

const manifest = {
  ...{ id: 'attendance', version: '1.0.0', type: 'B' },
  events: { subscribes: ['space.created'], publishes: [{ name: 'lesson_missed', notify: true }] },
} as never

async function aWorld(db: Db, reply: (got: Got) => Reply | 'hang up' = () => ({ status: 204 })) {
  const clock = manualClock()
  const keyring = aKeyring()
  const secret = newSecret(systemRandom)
  const service = await aService(() => secret, reply)
  const connections = openConnections(egressRules())
  onTestFinished(connections.close)
  const deps: DeliveryDeps = {
    ...{ db, clock, keyring, random: systemRandom, log: silentLogger(), owner: 'replica_1', call: openServiceCalls(connections) },
    counts: new RunCounts(),
    manifestOf: async () => manifest,
  }
  await db.transaction().execute((tx) => {
    const sealedSecret = sealSecret({ keyring, random: systemRandom }, 'attendance', secret)
    return storeUpstream(tx, clock, { moduleId: 'attendance', url: service.url, sealedSecret })
  })
  const host = new URL(service.url).host
  const aTenant = async (
    tenantId: string,
    { permissions = ['events:subscribe', 'events:publish', 'spaces:read'], moduleId = 'attendance' } = {},
  ) => {
    const now = isoNow(clock)
    const plain = { name: tenantId, plan: 'light', status: 'active', time_zone: null, maintenance_window: null }
    await db
      .insertInto('tenants')
      .values({ id: tenantId, slug: tenantId.replace('_', '-'), chat_domain: `${tenantId}.example`, created_at: now, ...plain } as never)
      .onConflict((c) => c.doNothing())
      .execute()
    const data = {
      settings: '{}',
      data_generation: 0,
      data_version: 0,
      data_bytes: 0,
      former: null,
      former_until: null,
      data_delete_at: null,
    }
    const times = { installed_at: now, activated_at: now, updated_at: now }
    const row = {
      version: '1.0.0',
      status: 'active',
      paused: 0,
      permissions: JSON.stringify(permissions),
      feature_flag: moduleId,
      generation: 1,
    }
    await db
      .insertInto('module_installations')
      .values({ tenant_id: tenantId, module_id: moduleId, ...row, ...data, ...times, remote: 'confirmed', upstream_host: host } as never)
      .execute()
    const fresh = { seq: 0, attempt: 0, next_at: null, delivery_id: null, failing_since: null, error: null, skipped: 0, skipped_at: null }
    await db
      .insertInto('module_positions')
      .values({ tenant_id: tenantId, module_id: moduleId, ...fresh })
      .execute()
  }
  const publishEvent = (tenantId: string, spaceId: string, type: 'space.created' | 'space.updated' = 'space.created') =>
    db.transaction().execute((tx) => recordEvent(tx, clock, { tenantId, type, payload: { spaceId }, audience: 'tenant' }))
  const rotation = { after: '' }
  const deliver = async (given = deps) => {
    for (const moduleId of await dueServices(db, isoNow(clock)))
      await deliverToService(given, { moduleId, rotation }, new AbortController().signal)
  }
  const positionOf = async (tenantId: string) =>
    db.selectFrom('module_positions').selectAll().where('tenant_id', '=', tenantId).executeTakeFirstOrThrow()
  const runs = () => db.selectFrom('module_runs').select(['status', 'error', 'delivery_id', 'depth']).orderBy('created_at').execute()
  return { db, clock, deps, ...service, aTenant, publishEvent, deliver, positionOf, runs }
}

onBothDialects('deliveries to services', (fresh) => {
  test('a tenant whose version runs on this platform again sends the service nothing, and loses no event', async () => {
    const { aTenant, publishEvent, deliver, got, positionOf, runs, deps } = await aWorld(await fresh())
    // Updated to type B and rolled back: the host stays, because what its service stores is deleted there one day.
    await aTenant('ten_1')
    const rolledBack = { ...deps, manifestOf: async () => ({ ...(manifest as object), type: 'A' }) as never }
    await publishEvent('ten_1', 'spc_1')
    await publishEvent('ten_1', 'spc_1', 'space.updated')
    await deliver(rolledBack)
    expect([got, await runs(), (await positionOf('ten_1')).seq]).toEqual([[], [], 0])
  })

  test('events that a module subscribes to arrive once, signed, in order; others are passed', async () => {
    const { aTenant, publishEvent, deliver, got, positionOf, runs } = await aWorld(await fresh())
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    await publishEvent('ten_1', 'spc_1', 'space.updated')
    await publishEvent('ten_1', 'spc_2')
    await publishEvent('ten_1', 'spc_2', 'space.updated')
    await deliver()
    await deliver()
    expect(got.map(({ type, seq, body }) => [type, seq, body.payload])).toEqual([
      ['space.created', 1, { spaceId: 'spc_1' }],
      ['space.created', 3, { spaceId: 'spc_2' }],
    ])
    expect(Number((await positionOf('ten_1')).seq)).toBe(4)
    expect((await runs()).map(({ status }) => status)).toEqual(['done', 'done'])
  })

  test('away for an hour: nothing is lost, the order is kept, and calls become rare', async () => {
    let [isAway, calls] = [true, 0]
    const world = await aWorld(await fresh(), () => {
      calls += 1
      return isAway ? 'hang up' : { status: 200 }
    })
    const { clock, aTenant, publishEvent, deliver, got } = world
    for (const tenant of ['ten_1', 'ten_2', 'ten_3']) await aTenant(tenant)
    for (let minute = 0; minute < 60; minute++) {
      await publishEvent(`ten_${1 + (minute % 3)}`, `spc_${minute}`)
      await deliver()
      await clock.advance(60_000)
    }
    expect(got).toEqual([])
    // One call for all installations at each end of a rest, up to five minutes apart.
    expect(calls).toBeLessThan(25)
    isAway = false
    for (let n = 0; n < 10; n++) {
      await clock.advance(5 * 60_000)
      await deliver()
    }
    for (const tenant of ['ten_1', 'ten_2', 'ten_3']) {
      const seqs = got.filter(({ tenantId }) => tenantId === tenant).map(({ seq }) => seq)
      expect(seqs).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    }
    expect(await findUpstream(world.db, 'attendance')).toMatchObject({ failures: 0, restUntil: null })
  })

  test('all tenants with an event get their turn at once, however many there are', async () => {
    const { aTenant, publishEvent, deliver, got } = await aWorld(await fresh())
    const tenants = Array.from({ length: 13 }, (_, n) => `ten_${n + 10}`)
    for (const tenant of tenants) {
      await aTenant(tenant)
      await publishEvent(tenant, 'spc_1')
    }
    await deliver()
    expect(got.map(({ tenantId }) => tenantId).sort()).toEqual(tenants)
  })

  test('tenants with many events do not keep another one waiting until they have none left', async () => {
    const { aTenant, publishEvent, deliver, got } = await aWorld(await fresh())
    for (let n = 1; n <= 5; n++) {
      await aTenant(`ten_${n}`)
      for (let event = 0; event < (n === 5 ? 1 : 45); event++) await publishEvent(`ten_${n}`, `spc_${event}`)
    }
    await deliver()
    expect(got).toHaveLength(181)
    // After one turn of 20 events of each of the four before it.
    expect(got.findIndex(({ tenantId }) => tenantId === 'ten_5')).toBeLessThan(120)
  })

  test('a tenant whose data is migrated takes the turn of no other', async () => {
    const { db, clock, aTenant, publishEvent, deliver, got } = await aWorld(await fresh())
    for (let n = 1; n <= 5; n++) {
      await aTenant(`ten_${n}`)
      await publishEvent(`ten_${n}`, 'spc_1')
    }
    const busy_until = new Date(clock.now().getTime() + 60_000).toISOString()
    await db.updateTable('module_installations').set({ busy_until }).where('tenant_id', '!=', 'ten_5').execute()
    await deliver()
    expect(got.map(({ tenantId }) => tenantId)).toEqual(['ten_5'])
  })

  test('an event that a service refuses delays its own installation alone, and is a dead letter after 24 hours', async () => {
    const { db, clock, aTenant, publishEvent, deliver, got, positionOf, runs } = await aWorld(await fresh(), ({ tenantId, seq }) => ({
      status: tenantId === 'ten_1' && seq === 1 ? 500 : 204,
    }))
    await aTenant('ten_1')
    await aTenant('ten_2')
    await publishEvent('ten_1', 'spc_poison')
    await publishEvent('ten_1', 'spc_2')
    await publishEvent('ten_2', 'spc_3')
    await deliver()
    expect(got.map(({ tenantId, seq }) => [tenantId, seq])).toEqual([['ten_2', 1]])
    expect(await positionOf('ten_1')).toMatchObject({ attempt: 1, error: 'the service answered 500' })
    for (let hour = 0; hour < 26; hour++) {
      await clock.advance(3_600_000)
      await deliver()
    }
    expect(got.map(({ tenantId, seq }) => [tenantId, seq])).toEqual([
      ['ten_2', 1],
      ['ten_1', 2],
    ])
    const letters = await db.selectFrom('module_dead_letters').selectAll().execute()
    expect(letters).toMatchObject([{ tenant_id: 'ten_1', event_type: 'space.created', error: 'the service answered 500' }])
    expect((await runs()).map(({ status }) => status).sort()).toEqual(['dead', 'done', 'done', 'failed'])
  })

  test('operators list dead letters over HTTP, newest first, a page at a time', async () => {
    const { db, clock, deps, aTenant, publishEvent, deliver } = await aWorld(await fresh(), () => ({ status: 500 }))
    const routes = moduleServicesFeature.routes?.(deps as never) ?? []
    const { url } = await servedApp(routes, { clock, authenticate: { admin: async () => anOperator } })
    const { listModuleDeadLetters: list } = makeClient(moduleServicesContract, { baseUrl: url })
    const params = { id: 'attendance' }
    expect(await list({ params, query: {} })).toEqual({ deadLetters: [], nextCursor: null })
    for (const tenant of ['ten_1', 'ten_2']) {
      await aTenant(tenant)
      await publishEvent(tenant, 'spc_poison')
      await deliver()
      await clock.advance(25 * 3_600_000)
      await deliver()
    }
    const first = await list({ params, query: { limit: 1 } })
    expect(first.deadLetters).toMatchObject([
      { tenant: 'ten_2', seq: 1, eventType: 'space.created', attempts: 2, error: 'the service answered 500', createdAt: isoNow(clock) },
    ])
    const second = await list({ params, query: { limit: 1, cursor: first.nextCursor as string } })
    expect([second.deadLetters.map(({ tenant }) => tenant), second.nextCursor]).toEqual([['ten_1'], null])
    expect(first.deadLetters[0]?.id).toBe(
      (await db.selectFrom('module_runs').select('delivery_id').where('tenant_id', '=', 'ten_2').executeTakeFirst())?.delivery_id,
    )
    expect((await list({ params: { id: 'other' }, query: {} })).deadLetters).toEqual([])
  })

  test('100 publishes a minute: the answer that exceeds them publishes nothing, and is a violation', async () => {
    const body = JSON.stringify({ publish: Array.from({ length: 60 }, () => ({ name: 'lesson_missed' })) })
    const { db, clock, deps, aTenant, publishEvent, deliver, runs } = await aWorld(await fresh(), () => ({ status: 200, body }))
    const published = async () => await db.selectFrom('events').select(['seq', 'audience']).where('source', '=', 'attendance').execute()
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    await publishEvent('ten_1', 'spc_2')
    await deliver()
    expect((await published()).filter(({ audience }) => audience !== null)).toHaveLength(1)
    expect(await published()).toHaveLength(60)
    expect((await runs()).map(({ status }) => status).sort()).toEqual(['done', 'failed'])
    await deps.counts.flush(deps)
    expect(
      (await db.selectFrom('module_counters').select(['bucket', 'count']).orderBy('bucket').execute()).map(
        ({ bucket, count }) => `${bucket} ${count}`,
      ),
    ).toEqual(expect.arrayContaining(['error 1', 'violation_publishes 1']))
    await clock.advance(60_000)
    await publishEvent('ten_1', 'spc_3')
    await deliver()
    expect(await published()).toHaveLength(120)
  })

  test('deliveries count for the health of the module: each attempt, its duration, and limits that it broke', async () => {
    let reply: Reply = { status: 500 }
    const { db, clock, deps, aTenant, publishEvent, deliver } = await aWorld(await fresh(), () => reply)
    const call: typeof deps.call = async (one) => {
      const answer = await deps.call(one)
      await clock.advance(reply.status === 200 ? 700 : 7)
      return answer
    }
    const counted = async () => {
      await deps.counts.flush(deps)
      const rows = await db.selectFrom('module_counters').select(['bucket', 'count']).orderBy('bucket').execute()
      return Object.fromEntries(rows.map(({ bucket, count }) => [bucket, Number(count)]))
    }
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    await deliver({ ...deps, call })
    expect(await counted()).toEqual({ ms_10: 1, error: 1 })
    reply = { status: 200, body: 'x'.repeat(1_100_000) }
    await clock.advance(10_000)
    await deliver({ ...deps, call })
    expect(await counted()).toEqual({ ms_10: 1, ms_1000: 1, error: 2, violation_answer_size: 1 })
    reply = { status: 204 }
    await clock.advance(20_000)
    await deliver({ ...deps, call })
    expect(await counted()).toEqual({ ms_10: 2, ms_1000: 1, error: 2, violation_answer_size: 1 })
  })

  test('a daemon that dies after the call sends the event again under the same id', async () => {
    const ids: string[] = []
    const { deps, aTenant, publishEvent, deliver, got, runs, clock } = await aWorld(await fresh(), ({ id }) => {
      ids.push(id)
      return { status: 200, body: '{"publish":[{"name":"lesson_missed"}]}' }
    })
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    const dying: DeliveryDeps = {
      ...deps,
      owner: 'replica_2',
      call: async (call) => {
        await deps.call(call)
        throw new Error('killed')
      },
    }
    await deliver(dying).catch(() => undefined)
    expect(await runs()).toEqual([])
    await clock.advance(60_000)
    await deliver()
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    expect(got).toHaveLength(2)
    expect(await runs()).toMatchObject([{ status: 'done', delivery_id: ids[0] }])
  })

  test('an answer publishes what the manifest declares and the tenant approved, once', async () => {
    let body = '{"publish":[{"name":"lesson_missed","payload":{"pupils":2}}]}'
    const { db, aTenant, publishEvent, deliver, runs } = await aWorld(await fresh(), () => ({ status: 200, body }))
    const published = async (tenant: string) => {
      const rows = await db
        .selectFrom('events')
        .selectAll()
        .where('stream', '=', `tenant:${tenant}`)
        .where('event_type', 'like', 'module.%')
        .execute()
      return rows.map(({ event_type, source, payload }) => [event_type, source, JSON.parse(payload)])
    }
    await aTenant('ten_1')
    await aTenant('ten_2', { permissions: ['events:subscribe', 'spaces:read'] })
    await publishEvent('ten_1', 'spc_1')
    await publishEvent('ten_2', 'spc_1')
    await deliver()
    await deliver()
    const event = { moduleId: 'attendance', spaceId: null, depth: 0, payload: { pupils: 2 } }
    expect(await published('ten_1')).toMatchObject([['module.attendance.lesson_missed', 'attendance', event]])
    expect(await published('ten_2')).toEqual([])
    for (const wrong of [
      '{"publish":[{"name":"other"}]}',
      '{"publish":[{"name":"lesson_missed","spaceId":"spc_none"}]}',
      '{"publish":1}',
      '{"publish":[{"name":"lesson_missed","spaceId":"spc\\u0000"}]}',
      '{"publish":[{"name":"lesson_missed","\\u0000":1}]}',
      `{"publish":[{"name":"lesson_missed","payload":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`,
    ]) {
      body = wrong
      await publishEvent('ten_1', 'spc_2')
      await deliver()
    }
    expect(await published('ten_1')).toHaveLength(1)
    const errors = (await runs()).flatMap(({ error }) => (error === null ? [] : [error])).sort()
    expect(errors).toHaveLength(7)
    expect(errors.every((error) => error.startsWith('publish'))).toBe(true)
  })

  test('an installation that changed during the call drops the answer', async () => {
    const db = await fresh()
    const { aTenant, publishEvent, deliver, positionOf, deps } = await aWorld(db, () => ({
      status: 200,
      body: '{"publish":[{"name":"lesson_missed"}]}',
    }))
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    let isFirst = true
    const changing: DeliveryDeps = {
      ...deps,
      call: async (call) => {
        const answer = await deps.call(call)
        if (isFirst) await db.updateTable('module_installations').set({ generation: 2, status: 'deactivated' }).execute()
        isFirst = false
        return answer
      },
    }
    await deliver(changing)
    expect(Number((await positionOf('ten_1')).seq)).toBe(0)
    expect(await db.selectFrom('events').select('seq').where('event_type', 'like', 'module.%').execute()).toEqual([])
  })

  test.each([
    ['without consent to the host', { upstream_host: 'other.example' }],
    ['paused', { paused: 1 }],
    ['deactivated', { status: 'deactivated' }],
  ])('nothing is sent to an installation %s', async (_, change) => {
    const { db, aTenant, publishEvent, deliver, got } = await aWorld(await fresh())
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    await db
      .updateTable('module_installations')
      .set(change as never)
      .execute()
    await deliver()
    expect(got).toEqual([])
  })

  test('a withdrawn version and a suspended tenant get nothing', async () => {
    const { db, aTenant, publishEvent, deliver, got, clock } = await aWorld(await fresh())
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    const withdrawal = { module_id: 'attendance', version: '1.0.0', reason: 'x', withdrawn_at: isoNow(clock) }
    await db
      .insertInto('module_withdrawals')
      .values(withdrawal as never)
      .execute()
    await deliver()
    await db.deleteFrom('module_withdrawals').execute()
    await db.updateTable('tenants').set({ status: 'suspended' }).execute()
    await deliver()
    expect(got).toEqual([])
    await db.updateTable('tenants').set({ status: 'active' }).execute()
    await deliver()
    expect(got).toHaveLength(1)
  })

  test('a module without spaces:read hears nothing of a space that is private or gone', async () => {
    const { aTenant, publishEvent, deliver, got, positionOf } = await aWorld(await fresh())
    await aTenant('ten_1', { permissions: ['events:subscribe'] })
    await publishEvent('ten_1', 'spc_gone')
    await deliver()
    expect(got).toEqual([])
    expect(Number((await positionOf('ten_1')).seq)).toBe(1)
  })

  test('more than 7 days behind: events are skipped, counted, and an alert is raised', async () => {
    const { db, clock, aTenant, publishEvent, deliver, got, positionOf } = await aWorld(await fresh())
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    await publishEvent('ten_1', 'spc_2')
    await clock.advance(8 * 86_400_000)
    await deliver()
    expect(got).toEqual([])
    expect(await positionOf('ten_1')).toMatchObject({ skipped: 2 })
    expect(await db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'module_failed' }])
  })

  test('events that retention deleted behind a position are skipped, and nothing is due', async () => {
    const { db, clock, aTenant, publishEvent, deliver, got, positionOf } = await aWorld(await fresh())
    await aTenant('ten_1')
    await publishEvent('ten_1', 'spc_1')
    await clock.advance(91 * 86_400_000)
    await forgetEvents({ db, clock }, new AbortController().signal)
    await deliver()
    expect(await positionOf('ten_1')).toMatchObject({ skipped: 1 })
    expect(await dueServices(db, isoNow(clock))).toEqual([])
    await publishEvent('ten_1', 'spc_2')
    await deliver()
    expect(got.map(({ body }) => body.payload)).toEqual([{ spaceId: 'spc_2' }])
  })

  test('the sealed secret opens at its own row alone', async () => {
    const { db, deps } = await aWorld(await fresh())
    const upstream = await findUpstream(db, 'attendance')
    if (!upstream) throw new Error('no upstream')
    expect(openSecret(deps.keyring, upstream).reveal()).toMatch(/^whsec_/)
    expect(() => openSecret(deps.keyring, { ...upstream, moduleId: 'other' })).toThrow(/cannot be opened/)
  })
})
