import { expect, test } from 'vitest'
import { manualClock } from '../../../../src/core/kit/index.ts'
import type { Db } from '../../../../src/daemon/db/index.ts'
import type { InstallationRecord } from '../../../../src/daemon/modules/installations.repo.ts'
import type { CallService, ServiceCall } from '../../../../src/daemon/modules/services/call-service.ts'
import type { ServicesDeps } from '../../../../src/daemon/modules/services/deps.ts'
import {
  activateService,
  callHandler,
  callTopic,
  queueCalls,
  queueDataDeletion,
} from '../../../../src/daemon/modules/services/life-cycle.ts'
import { setUpstream, showUpstream } from '../../../../src/daemon/modules/services/set-upstream.ts'
import { silentLogger, systemRandom } from '../../../../src/node/index.ts'
import { aKeyring } from '../../../support/admin-world.ts'
import { onBothDialects } from '../../../support/databases.ts'

const actor = { kind: 'system', name: 'test' } as const
const manifestOf = (type: 'A' | 'B') => ({ id: 'attendance', version: '1.0.0', type, dataVersion: 0 }) as never
const url = 'https://attendance.example'

const installation = {
  ...{ tenantId: 'ten_1', moduleId: 'attendance', version: '1.0.0', status: 'installed', generation: 3, dataGeneration: 0, dataBytes: 0 },
  ...{ installedAt: '2026-03-01T10:00:00.000Z', remote: null, upstreamHost: 'attendance.example' },
} as unknown as InstallationRecord

async function aWorld(db: Db) {
  const clock = manualClock()
  const sent: ServiceCall[] = []
  let status: number | null = 204
  const call: CallService = async (one) => {
    sent.push(one)
    return status === 204 ? { ok: true, body: '' } : { ok: false, failure: { status, reason: `the service answered ${status}` } }
  }
  const deps = {
    ...{
      db,
      clock,
      random: systemRandom,
      log: silentLogger(),
      keyring: aKeyring(),
      owner: 'replica_1',
      baseUrl: 'https://school.example',
      call,
    },
    manifestOf: async (_: unknown, id: string) => (id === 'attendance' ? manifestOf('B') : id === 'local' ? manifestOf('A') : undefined),
  } as unknown as ServicesDeps
  const plain = { name: 'School', plan: 'light', status: 'active', time_zone: null, maintenance_window: null, chat_domain: 'c.example' }
  await db
    .insertInto('tenants')
    .values({ id: 'ten_1', slug: 'school', created_at: clock.now().toISOString(), ...plain } as never)
    .execute()
  const install = (state: string) => {
    const data = { settings: '{}', data_generation: 0, data_version: 0, data_bytes: 0 }
    const at = '2026-03-01T10:00:00.000Z'
    const row = {
      tenant_id: 'ten_1',
      module_id: 'attendance',
      version: '1.0.0',
      status: state,
      paused: 0,
      permissions: '[]',
      feature_flag: 'f',
    }
    return db
      .insertInto('module_installations')
      .values({ ...row, ...data, generation: 3, installed_at: at, updated_at: at } as never)
      .execute()
  }
  const jobs = () => db.selectFrom('jobs').select(['payload', 'run_at']).where('topic', '=', callTopic).execute()
  /** Runs the queued life-cycle calls at their time. */
  const work = async () => {
    const found = await jobs()
    await db.deleteFrom('jobs').where('topic', '=', callTopic).execute()
    for (const { payload } of found) await callHandler(deps)(JSON.parse(payload), { last: false })
  }
  const remote = async () => (await db.selectFrom('module_installations').select('remote').executeTakeFirstOrThrow()).remote
  const answer = (given: number | null) => {
    status = given
  }
  return { db, clock, deps, sent, answer, install, jobs, work, remote }
}

onBothDialects('services of modules', (fresh) => {
  test('an operator sets an address; the secret is shown once, and again when it is rotated', async () => {
    const { db, deps } = await aWorld(await fresh())
    const first = await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    expect(first).toMatchObject({
      host: 'attendance.example',
      failures: 0,
      signingSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    })
    const moved = await setUpstream(deps, actor, { id: 'attendance', url: 'https://other.example', rotateSecret: false })
    expect(moved).toMatchObject({ host: 'other.example', signingSecret: null })
    const rotated = await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: true })
    expect(rotated.signingSecret).not.toBe(first.signingSecret)
    expect(await showUpstream(deps, 'attendance')).not.toHaveProperty('signingSecret')
    const entries = await db.selectFrom('audit').select(['action', 'data']).where('action', '=', 'module.upstream_set').execute()
    expect(entries).toHaveLength(3)
    expect(JSON.stringify(entries)).not.toContain('whsec_')
  })

  test('only an approved type B module has a service', async () => {
    const { deps } = await aWorld(await fresh())
    await expect(setUpstream(deps, actor, { id: 'unknown', url, rotateSecret: false })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(setUpstream(deps, actor, { id: 'local', url, rotateSecret: false })).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(showUpstream(deps, 'attendance')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('an activation waits for the service, and is the consent to its host', async () => {
    const { deps, sent, answer } = await aWorld(await fresh())
    const preparation = { installation, manifest: manifestOf('B'), permissions: ['events:subscribe'], target: 3 }
    await expect(activateService(deps, preparation)).rejects.toMatchObject({ code: 'CONFLICT' })
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    answer(500)
    await expect(activateService(deps, preparation)).rejects.toMatchObject({ code: 'MODULE_SERVICE_FAILED' })
    answer(204)
    expect(await activateService(deps, preparation)).toMatchObject({ remote: 'confirmed', upstreamHost: 'attendance.example' })
    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 10_000])
    expect(JSON.parse(sent[1]?.body ?? '')).toMatchObject({
      type: 'module.activate',
      data: { tenantId: 'ten_1', permissions: ['events:subscribe'], payload: { generation: 3 } },
    })
  })

  test.each([0, 5])(
    'documents keep their version at a service whose manifest names %d: no migration runs twice, and none is left out',
    async (n) => {
      const { deps, answer } = await aWorld(await fresh())
      await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
      answer(204)
      const manifest = { ...(manifestOf('B') as object), dataVersion: n } as never
      const preparation = { installation: { ...installation, dataVersion: 2 }, manifest, permissions: [], target: 3 }
      expect((await activateService(deps, preparation)).dataVersion).toBe(2)
    },
  )

  test('deactivate is queued, holds nothing up, and is repeated until the service confirms it', async () => {
    const world = await aWorld(await fresh())
    const { db, deps, clock, sent, answer, install, jobs, work, remote } = world
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    await install('deactivated')
    const change = {
      former: { ...installation, status: 'active' as const },
      installation: { ...installation, status: 'deactivated' as const },
    }
    await db.transaction().execute((tx) => queueCalls(deps, tx, { ...change, manifest: manifestOf('B') }))
    expect([sent.length, await remote(), (await jobs()).length]).toEqual([0, 'pending', 1])
    answer(500)
    await work()
    const [retry] = await jobs()
    expect(Date.parse(retry?.run_at ?? '') - clock.now().getTime()).toBe(5000)
    expect(await remote()).toBe('pending')
    answer(204)
    await work()
    expect([await remote(), (await jobs()).length]).toEqual(['confirmed', 0])
    expect(sent.map(({ id }) => id)).toEqual([sent[0]?.id, sent[0]?.id])
  })

  test('the deletion of a tenant reaches its services, also when its rows are gone, until they have answered', async () => {
    const { db, deps, clock, sent, answer, install, jobs, work } = await aWorld(await fresh())
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    await install('active')
    await db.updateTable('module_installations').set({ upstream_host: 'attendance.example' }).execute()
    await db.updateTable('tenants').set({ status: 'deleting' }).execute()
    await queueDataDeletion(deps, 'ten_1')
    answer(500)
    await work()
    expect(JSON.parse(sent[0]?.body ?? '{}')).toMatchObject({
      type: 'module.delete_data',
      data: { tenantId: 'ten_1', payload: { generation: 4 } },
    })
    await db.deleteFrom('module_installations').execute()
    await db.deleteFrom('tenants').execute()
    await clock.advance(5000)
    answer(204)
    await work()
    expect([sent.map(({ id }) => id), await jobs()]).toEqual([[sent[0]?.id, sent[0]?.id], []])
  })

  test('while a service is away one call finds out, and those of other tenants wait', async () => {
    const { db, deps, clock, sent, answer, jobs, work } = await aWorld(await fresh())
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    const deleted = { ...installation, status: 'deleted' as const }
    for (const tenantId of ['ten_1', 'ten_2', 'ten_3']) {
      const change = { former: { ...installation, tenantId }, installation: { ...deleted, tenantId } }
      await db.transaction().execute((tx) => queueCalls(deps, tx, { ...change, manifest: manifestOf('B') }))
    }
    answer(null)
    await work()
    expect([sent.length, (await jobs()).length]).toEqual([1, 3])
    answer(204)
    await clock.advance(5000)
    await work()
    expect([new Set(sent.map(({ tenantId }) => tenantId)).size, await jobs()]).toEqual([3, []])
  })

  test('a module that moved from its service to the platform leaves nothing at the service', async () => {
    const { db, deps, jobs } = await aWorld(await fresh())
    const former = { ...installation, status: 'pending_deletion' as const, upstreamHost: 'attendance.example' }
    const deleted = { ...installation, status: 'deleted' as const }
    await db.transaction().execute((tx) => queueCalls(deps, tx, { former, installation: deleted, manifest: manifestOf('A') }))
    expect((await jobs()).map(({ payload }) => JSON.parse(payload).type)).toEqual(['module.delete_data'])
  })

  test.each(['A', 'B'] as const)('a module of type %s that no tenant activated at a service is no call', async (type) => {
    const { db, deps, jobs } = await aWorld(await fresh())
    const never = { ...installation, upstreamHost: null }
    const change = { former: { ...never, status: 'pending_deletion' as const }, installation: { ...never, status: 'deleted' as const } }
    await db.transaction().execute((tx) => queueCalls(deps, tx, { ...change, manifest: manifestOf(type) }))
    expect(await jobs()).toEqual([])
  })

  test('a service at another host than the tenant consented to gets no call; the former host gets it once it is set again', async () => {
    const { db, deps, clock, sent, install, jobs, work } = await aWorld(await fresh())
    await setUpstream(deps, actor, { id: 'attendance', url: 'https://other.example', rotateSecret: false })
    await install('deactivated')
    const left = {
      former: { ...installation, status: 'active' as const },
      installation: { ...installation, status: 'deactivated' as const },
    }
    await db.transaction().execute((tx) => queueCalls(deps, tx, { ...left, manifest: manifestOf('B') }))
    await db.updateTable('module_installations').set({ upstream_host: 'attendance.example' }).execute()
    await queueDataDeletion(deps, 'ten_1')
    await work()
    expect([sent, (await jobs()).length]).toEqual([[], 2])
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    await clock.advance(5000)
    await work()
    expect(sent.map(({ upstream, body }) => `${upstream} ${JSON.parse(body).type}`)).toEqual([
      `${url} module.deactivate`,
      `${url} module.delete_data`,
    ])
  })

  test('delete_data is repeated for 30 days, then an alert is raised', async () => {
    const { db, deps, clock, answer, install, jobs, work } = await aWorld(await fresh())
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    await install('deleted')
    const deleted = {
      former: { ...installation, status: 'pending_deletion' as const },
      installation: { ...installation, status: 'deleted' as const },
    }
    await db.transaction().execute((tx) => queueCalls(deps, tx, { ...deleted, manifest: manifestOf('B') }))
    answer(null)
    for (let day = 0; day < 29; day++) {
      await clock.advance(86_400_000)
      await work()
    }
    expect([(await jobs()).length, await db.selectFrom('alerts').select('kind').execute()]).toEqual([1, []])
    await clock.advance(2 * 86_400_000)
    await work()
    expect([(await jobs()).length, await db.selectFrom('alerts').select('kind').execute()]).toEqual([0, [{ kind: 'module_failed' }]])
  })

  test('a module that was activated again is not asked to delete what it uses', async () => {
    const { db, deps, sent, install, work } = await aWorld(await fresh())
    await setUpstream(deps, actor, { id: 'attendance', url, rotateSecret: false })
    await install('active')
    const deleted = {
      former: { ...installation, status: 'pending_deletion' as const },
      installation: { ...installation, status: 'deleted' as const },
    }
    await db.transaction().execute((tx) => queueCalls(deps, tx, { ...deleted, manifest: manifestOf('B') }))
    await work()
    expect(sent).toEqual([])
  })
})
