import { expect, test } from 'vitest'
import { forgetEvents } from '../../../../src/daemon/events/index.ts'
import { deliverTenant } from '../../../../src/daemon/modules/runs/deliver-events.ts'
import { deliverAll, tenantsBehind } from '../../../../src/daemon/modules/runs/run-deliveries.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { dyingAt } from '../../../support/dying.ts'
import { aModuleRunsWorld, type ModuleRunsWorld } from '../../../support/module-runs-world.ts'

const hears = { events: { subscribes: ['space.created'], publishes: [{ name: 'heard', notify: true }] } }
const counting = `export const on = { 'space.created': async (event, svc) => {
  const list = (await svc.data.get('heard')) ?? []
  await svc.data.put('heard', [...list, event.payload.spaceId])
  await svc.events.publish('heard', { of: event.payload.spaceId })
} }`

const withdrawal = { module_id: 'slow', version: '1.0.0', reason: 'x', withdrawn_at: '2026-01-01T00:00:00.000Z' }
const atItsDeveloper = { type: 'B', dataProcessing: { operator: 'Acme', country: 'DE', privacyUrl: 'https://acme.example' } } as const

onBothDialects('events of modules', (fresh) => {
  const world = async () => aModuleRunsWorld(await fresh())

  test('are delivered once and in order, with two replicas', async () => {
    const one = await world()
    await one.install('counter', { code: counting, manifest: hears })
    for (const n of [1, 2, 3]) await one.happen({ spaceId: `spc_${n}` })
    const other = { ...one, owner: 'replica-2' }
    await Promise.all([deliverAll(one), deliverAll(other)])
    await deliverAll(other)
    expect(await one.documents()).toEqual({ heard: ['spc_1', 'spc_2', 'spc_3'] })
    expect((await one.runs()).map(({ status, depth }) => [status, depth])).toEqual(Array.from({ length: 3 }, () => ['done', 0]))
  })

  test('published events reach other modules, and clients hear one in a second', async () => {
    const one = await world()
    await one.install('counter', { code: counting, manifest: hears })
    const listens = { events: { subscribes: ['module.counter.heard'] } }
    const code = `export const on = { 'module.counter.heard': async ({ payload }, svc) => svc.data.put('other:' + payload.of, payload) }`
    await one.install('listener', { code, manifest: listens as never })
    await one.happen({ spaceId: 'spc_1' })
    await one.happen({ spaceId: 'spc_2' })
    await deliverAll(one)
    await deliverAll(one)
    expect(await one.documents()).toMatchObject({ 'other:spc_1': { of: 'spc_1' }, 'other:spc_2': { of: 'spc_2' } })
    const published = await one.db.selectFrom('events').selectAll().where('source', '=', 'counter').orderBy('seq').execute()
    expect(published.map(({ audience }) => audience)).toEqual([JSON.stringify({ capability: 'manageModules' }), null])
    expect(JSON.parse(published[0]?.payload ?? '')).toMatchObject({
      moduleId: 'counter',
      spaceId: null,
      depth: 0,
      payload: { of: 'spc_1' },
    })
    expect((await one.runs()).map(({ module_id, depth }) => `${module_id} ${depth}`).sort()).toEqual([
      'counter 0',
      'counter 0',
      'listener 1',
      'listener 1',
    ])
  })

  test('two modules that answer each other stop at depth 5, and the loop is recorded', async () => {
    const one = await world()
    const pingPong = (to: string, first: string) => ({
      code: `const on = {}; on['${first}'] = on['module.${to}.ball'] = async (_, svc) => svc.events.publish('ball'); export { on }`,
      manifest: { events: { subscribes: [first, `module.${to}.ball`], publishes: [{ name: 'ball', notify: false }] } },
    })
    await one.install('ping', pingPong('pong', 'space.created'))
    await one.install('pong', pingPong('ping', 'space.deleted'))
    await one.happen()
    for (let round = 0; round < 10; round++) await deliverAll(one)
    const runs = await one.runs()
    expect(runs.filter(({ status }) => status === 'done').map(({ depth }) => depth)).toEqual([0, 1, 2, 3, 4, 5])
    expect(runs.filter(({ status }) => status === 'loop')).toMatchObject([{ depth: 6 }])
  })

  test('a handler that throws is tried at once, after 10 s and after 60 s; then the next event is delivered', async () => {
    const one = await world()
    const code = `export const on = { 'space.created': async ({ payload }, svc) => {
      await svc.data.put(payload.spaceId, 1)
      if (payload.spaceId === 'spc_bad') throw new Error('poison')
    } }`
    await one.install('fragile', { code, manifest: hears })
    await one.happen({ spaceId: 'spc_bad' })
    await one.happen({ spaceId: 'spc_good' })
    await deliverAll(one)
    await deliverAll(one)
    expect(await one.runs()).toHaveLength(1)
    expect(await one.positionOf('fragile')).toMatchObject({ attempt: 1, error: expect.stringContaining('poison') })
    await one.clock.advance(10_000)
    await deliverAll(one)
    await one.clock.advance(59_000)
    await deliverAll(one)
    expect(await one.documents()).toEqual({})
    await one.clock.advance(1_000)
    await deliverAll(one)
    expect(await one.documents()).toEqual({ spc_good: 1 })
    expect((await one.runs()).map(({ status }) => status).sort()).toEqual(['dead', 'done', 'failed', 'failed'])
    expect(await one.positionOf('fragile')).toMatchObject({ attempt: 0, error: null })
  })

  test('an event that nobody could read is not published: too deep, or of letters that no database stores', async () => {
    const one = await world()
    const publishing = `export const handle = async ({ path }, svc) => {
      let value = 'a\\0'
      for (let n = 0; n < 65; n++) value = [value]
      const refused = await svc.events.publish('heard', value).catch(({ code }) => code)
      await svc.events.publish('heard', ['a\\0'])
      throw new Error(refused + '\\0' + (await svc.data.put('deep', value).catch(({ code }) => code)))
    }`
    await one.install('loud', { code: publishing, manifest: hears })
    expect((await (await one.app())('loud/')).status).toBe(502)
    expect(await one.runs()).toMatchObject([{ status: 'failed', error: expect.stringContaining('ARGUMENT') }])
  })

  test('a broken limit is not tried again', async () => {
    const one = await world()
    await one.install('endless', { code: `export const on = { 'space.created': async () => { for (;;); } }`, manifest: hears })
    await one.happen()
    await deliverAll(one)
    const [run] = await one.runs()
    expect(run).toMatchObject({ status: 'dead', attempt: 1 })
    expect(JSON.parse(run?.violations ?? '')).toMatchObject([{ kind: 'interpreter_time' }])
    await one.counts.flush(one)
    expect(await one.db.selectFrom('module_counters').select(['bucket', 'count']).orderBy('bucket').execute()).toEqual([
      { bucket: 'error', count: 1 },
      { bucket: expect.stringContaining('ms_'), count: 1 },
      { bucket: 'violation_interpreter_time', count: 1 },
    ])
  })

  test('a call without its permission is refused, and counts as a violation', async () => {
    const one = await world()
    const code = `export const on = { 'space.created': async (_, svc) => { try { await svc.spaces.list() } catch (error) { await svc.data.put('error', error.code) } } }`
    await one.install('curious', { code, manifest: hears, permissions: ['events:subscribe'] })
    await one.happen({})
    await deliverAll(one)
    expect(await one.documents()).toEqual({ error: 'PERMISSION' })
    expect(JSON.parse((await one.runs())[0]?.violations ?? '')).toMatchObject([{ kind: 'permission' }])
  })

  test('an event of a PRIVATE space is for modules that may read spaces', async () => {
    const one = await world()
    const at = one.clock.now().toISOString()
    const space = { name: 'x', type: 'GROUP', revision: 1, chat_revision: 0, chat_space_id: null, chat_room_id: null, created_by: 'x' }
    for (const visibility of ['PRIVATE', 'TENANT'])
      await one.db
        .insertInto('spaces')
        .values({
          ...space,
          id: `spc_${visibility}`,
          tenant_id: one.tenantId,
          visibility,
          created_at: at,
          updated_at: at,
          deleted_at: null,
        } as never)
        .execute()
    const code = (name: string) =>
      `export const on = { 'space.created': async ({ payload }, svc) => svc.data.put('${name}:' + payload.spaceId, 1) }`
    await one.install('reader', { code: code('r'), manifest: hears })
    await one.install('blind', { code: code('b'), manifest: hears, permissions: ['events:subscribe'] })
    await one.happen({ spaceId: 'spc_PRIVATE' })
    await one.happen({ spaceId: 'spc_TENANT' })
    await deliverAll(one)
    expect(Object.keys(await one.documents()).sort()).toEqual(['b:spc_TENANT', 'r:spc_PRIVATE', 'r:spc_TENANT'])
  })

  test('a module more than 7 days behind skips to new events, visibly', async () => {
    const one = await world()
    await one.install('slow', { code: counting, manifest: hears })
    await one.happen()
    await one.change('slow', { paused: 1 })
    await deliverAll(one)
    await one.clock.advance(8 * 86_400_000)
    await one.happen()
    await one.change('slow', { paused: 0 })
    await deliverAll(one)
    expect(await one.positionOf('slow')).toMatchObject({ skipped: 2 })
    expect(await one.db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'module_failed' }])
    await one.happen({ spaceId: 'spc_9' })
    await deliverAll(one)
    expect(await one.documents()).toEqual({ heard: ['spc_9'] })
  })

  test.each([
    ['paused', ({ change }) => change('slow', { paused: 1 })],
    ['migrated', ({ change }) => change('slow', { busy_until: '2999-01-01T00:00:00.000Z' })],
    ['of a suspended tenant', ({ db }) => db.updateTable('tenants').set({ status: 'suspended' }).execute()],
    ['withdrawn', ({ db }) => db.insertInto('module_withdrawals').values(withdrawal).execute()],
    ['run by a service that is away', undefined],
  ] satisfies [string, ((world: ModuleRunsWorld) => Promise<unknown>) | undefined][])(
    'a module that is %s costs nothing each second',
    async (_, stop) => {
      const one = await world()
      await one.install('slow', { code: counting, manifest: { ...hears, ...(stop ? {} : atItsDeveloper) } })
      await one.happen()
      await stop?.(one)
      expect(await tenantsBehind(one)).toEqual([])
      const leases = one.db.selectFrom('leases').select('name').where('name', 'like', 'module-events:%')
      await deliverTenant(one, one.tenantId)
      expect(await leases.execute()).toEqual([])
    },
  )

  test('events that retention deleted behind a position are skipped, visibly, and the next ones are delivered', async () => {
    const one = await world()
    await one.install('slow', { code: counting, manifest: hears })
    await one.change('slow', { paused: 1 })
    for (const spaceId of ['spc_1', 'spc_2']) await one.happen({ spaceId })
    await one.clock.advance(91 * 86_400_000)
    await forgetEvents(one, new AbortController().signal)
    await one.change('slow', { paused: 0 })
    await deliverAll(one)
    expect(await one.positionOf('slow')).toMatchObject({ skipped: 2 })
    expect(await tenantsBehind(one)).toEqual([])

    await one.change('slow', { paused: 1 })
    await one.happen({ spaceId: 'spc_3' })
    await one.clock.advance(91 * 86_400_000)
    await forgetEvents(one, new AbortController().signal)
    await one.happen({ spaceId: 'spc_4' })
    await one.change('slow', { paused: 0 })
    await deliverAll(one)
    expect(await one.positionOf('slow')).toMatchObject({ skipped: 3 })
    expect(await one.documents()).toEqual({ heard: ['spc_4'] })
    expect(await one.db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'module_failed' }])
  })

  test.each(['before', 'after'] as const)(
    'a replica killed %s any commit of a delivery leaves no effect out and none twice',
    async (when) => {
      const one = await world()
      await one.install('counter', { code: counting, manifest: hears })
      const expected: string[] = []
      for (let nth = 1; nth <= 4; nth++) {
        const [a, b] = [`spc_${nth}a`, `spc_${nth}b`]
        expected.push(a, b)
        await one.happen({ spaceId: a })
        await one.happen({ spaceId: b })
        await deliverAll({ ...one, db: dyingAt(one.db, nth, when).db }).catch(() => undefined)
        await one.clock.advance(31_000)
        await deliverAll(one)
      }
      expect(await one.documents()).toEqual({ heard: expected })
      expect(await one.db.selectFrom('events').select('seq').where('source', '=', 'counter').execute()).toHaveLength(8)
    },
  )
})
