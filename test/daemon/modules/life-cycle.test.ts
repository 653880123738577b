import { EventEmitter, once } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { isoIn, problem } from '../../../src/core/kit/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aManifest, aModulesWorld, approve } from '../../support/modules-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

const params = { moduleId: 'attendance' }
const dayMs = 86_400_000

/** The room with `attendance` 1.0.0 approved, and the calls of `mia`. */
async function aRoom(db: Parameters<typeof aModulesWorld>[0], changed: Parameters<typeof aModulesWorld>[1] = {}) {
  const room = await aModulesWorld(db, changed)
  await approve(db, aManifest(), 'ten_two')
  const mia = room.as('mia')
  const verbs = {
    install: () => mia.installModule({ body: { ...params, approvedPermissions: ['spaces:read'] } }),
    activate: () => mia.activateModule({ params }),
    deactivate: () => mia.deactivateModule({ params }),
    pause: () => mia.pauseModule({ params }),
    resume: () => mia.resumeModule({ params }),
    delete: () => mia.uninstallModule({ params }),
    update: () => mia.updateModule({ params }),
    rollback: () => mia.rollbackModule({ params }),
  }
  return { ...room, mia, verbs }
}
type Verb = keyof Awaited<ReturnType<typeof aRoom>>['verbs']

/** How a state is reached, and what each verb answers in it: the new status, or the code. */
const states: Record<string, { reach: (Verb | 'expire' | 'clean')[]; answers: Record<Verb, string> }> = {
  none: {
    reach: [],
    answers: {
      ...{ install: 'installed', activate: 'NOT_FOUND', deactivate: 'NOT_FOUND', pause: 'NOT_FOUND', resume: 'NOT_FOUND' },
      ...{ delete: 'NOT_FOUND', update: 'NOT_FOUND', rollback: 'NOT_FOUND' },
    },
  },
  installed: {
    reach: ['install'],
    answers: {
      ...{ install: 'ALREADY_INSTALLED', activate: 'active', deactivate: 'INVALID_TRANSITION', pause: 'INVALID_TRANSITION' },
      ...{ resume: 'INVALID_TRANSITION', delete: 'pending_deletion', update: '1.0.0', rollback: 'INVALID_TRANSITION' },
    },
  },
  active: {
    reach: ['install', 'activate'],
    answers: {
      ...{ install: 'ALREADY_INSTALLED', activate: 'active', deactivate: 'deactivated', pause: 'active', resume: 'active' },
      ...{ delete: 'pending_deletion', update: '1.0.0', rollback: 'INVALID_TRANSITION' },
    },
  },
  paused: {
    reach: ['install', 'activate', 'pause'],
    answers: {
      ...{ install: 'ALREADY_INSTALLED', activate: 'active', deactivate: 'deactivated', pause: 'active', resume: 'active' },
      ...{ delete: 'pending_deletion', update: '1.0.0', rollback: 'INVALID_TRANSITION' },
    },
  },
  deactivated: {
    reach: ['install', 'activate', 'deactivate'],
    answers: {
      ...{ install: 'ALREADY_INSTALLED', activate: 'active', deactivate: 'deactivated', pause: 'INVALID_TRANSITION' },
      ...{ resume: 'INVALID_TRANSITION', delete: 'pending_deletion', update: 'INVALID_TRANSITION', rollback: 'INVALID_TRANSITION' },
    },
  },
  'deactivated, expired': {
    reach: ['install', 'activate', 'deactivate', 'expire'],
    answers: {
      ...{ install: 'ALREADY_INSTALLED', activate: 'RETENTION_EXPIRED', deactivate: 'deactivated', pause: 'INVALID_TRANSITION' },
      ...{ resume: 'INVALID_TRANSITION', delete: 'pending_deletion', update: 'INVALID_TRANSITION', rollback: 'INVALID_TRANSITION' },
    },
  },
  pending_deletion: {
    reach: ['install', 'activate', 'delete'],
    answers: {
      ...{ install: 'installed', activate: 'INVALID_TRANSITION', deactivate: 'INVALID_TRANSITION', pause: 'INVALID_TRANSITION' },
      ...{ resume: 'INVALID_TRANSITION', delete: 'pending_deletion', update: 'INVALID_TRANSITION', rollback: 'INVALID_TRANSITION' },
    },
  },
  deleted: {
    reach: ['install', 'activate', 'delete', 'expire', 'clean'],
    answers: {
      ...{ install: 'installed', activate: 'INVALID_TRANSITION', deactivate: 'INVALID_TRANSITION', pause: 'INVALID_TRANSITION' },
      ...{ resume: 'INVALID_TRANSITION', delete: 'INVALID_TRANSITION', update: 'INVALID_TRANSITION', rollback: 'INVALID_TRANSITION' },
    },
  },
}

/** Answers that change nothing: no event, no audit entry. */
const unchanged = new Set([
  ...['installed update', 'active activate', 'active resume', 'active update', 'paused activate', 'paused pause', 'paused update'],
  ...['deactivated deactivate', 'deactivated, expired deactivate', 'pending_deletion delete'],
])

onBothDialects('installations over the API', (fresh) => {
  describe.each(Object.entries(states))('from %s', (name, { reach, answers }) => {
    test.each(Object.entries(answers))('%s answers %s', async (verb, answer) => {
      const room = await aRoom(await fresh())
      for (const step of reach) {
        if (step === 'expire') await room.clock.advance(31 * dayMs)
        else if (step === 'clean') await room.cron('module-data-cleanup')
        else await room.verbs[step]()
      }
      const before = [await room.events(), await room.audited()]
      const got = await room.verbs[verb as Verb]().then(
        (body) => ('status' in body ? body.status : body.version),
        ({ code }) => code,
      )
      expect(got).toBe(answer)
      const after = [await room.events(), await room.audited()]
      const isChanged = !/^[A-Z]/.test(answer) && !unchanged.has(`${name} ${verb}`)
      expect(JSON.stringify(after) !== JSON.stringify(before), 'an event and an audit entry').toBe(isChanged)
    })
  })

  test('the whole life of an installation: states, events and audit entries in their order', async () => {
    const room = await aRoom(await fresh())
    const { mia, verbs } = room
    const flags = async () => (await room.as('anna').bootstrap()).featureFlags
    expect((await mia.listRegistry()).modules).toMatchObject([
      { moduleId: 'attendance', name: 'Attendance', version: '1.0.0', status: 'active', type: 'A', installation: null },
    ])
    expect(await verbs.install()).toEqual({ success: true, status: 'installed' })
    expect(await flags()).toEqual({})
    expect(await verbs.activate()).toEqual({ success: true, status: 'active' })
    const bootstrap = await room.as('anna').bootstrap()
    expect(bootstrap.featureFlags).toEqual({ attendance: true })
    expect(bootstrap.modules).toEqual([
      {
        ...{ key: 'attendance', moduleId: 'attendance', version: '1.0.0', enabled: true },
        apiPrefix: '/api/platform/v1/module-api/attendance',
      },
    ])
    expect(await mia.showInstallation({ params })).toMatchObject({
      ...{ moduleId: 'attendance', status: 'active', permissions: ['spaces:read'], featureFlag: 'attendance', data_delete_at: null },
      ...{ activatedAt: '2026-01-05T02:00:00.000Z', withdrawn: null, updateAvailable: null, rollback: null },
    })
    expect((await mia.listRegistry()).modules[0]?.installation).toEqual({ status: 'active', version: '1.0.0' })
    await verbs.pause()
    expect([await flags(), (await room.as('anna').bootstrap()).modules[0]?.enabled]).toEqual([{}, false])
    await verbs.resume()
    expect(await flags()).toEqual({ attendance: true })
    await verbs.delete()
    expect(await flags()).toEqual({})
    expect(await mia.showInstallation({ params })).toMatchObject({ status: 'pending_deletion', data_delete_at: '2026-02-04T02:00:00.000Z' })
    const types = [
      ...['module.installed', 'module.activated', 'module.paused', 'module.resumed', 'module.deactivated', 'module.uninstalled'],
    ]
    expect(await room.events()).toEqual(types.map((type) => ({ type, payload: { moduleId: 'attendance', version: '1.0.0' } })))
    expect(await room.audited()).toEqual(types.map((type) => `${type} one`))
    await room.clock.advance(31 * dayMs)
    await room.cron('module-data-cleanup')
    expect((await mia.listInstallations()).modules).toEqual([])
    expect(await codeOf(mia.showInstallation({ params }))).toBe('NOT_FOUND')
    expect((await room.audited()).at(-1)).toBe('module.data_deleted one')
  })

  test('refused: an unknown module, a permission that the manifest does not declare, a caller without manageModules', async () => {
    const room = await aRoom(await fresh())
    const install = (moduleId: string, approvedPermissions: string[], who = 'mia') =>
      codeOf(room.as(who).installModule({ body: { moduleId, approvedPermissions } }))
    expect(await install('nothing', [])).toBe('UNKNOWN_MODULE')
    expect(await install('attendance', ['files:write'])).toBe('PERMISSION_NOT_DECLARED')
    expect(await install('attendance', [], 'anna')).toBe('FORBIDDEN')
    await approve(room.db, aManifest({ id: 'future', featureFlag: 'future', svcCoreVersion: '>=9.0.0' }), 'ten_two')
    expect(await install('future', [])).toBe('INCOMPATIBLE')
    expect([await room.events(), await room.audited()]).toEqual([[], []])
  })

  test('the registry shows the price, and an installation without it or with another one is refused', async () => {
    const room = await aRoom(await fresh())
    await approve(
      room.db,
      aManifest({ version: '1.1.0', billing: { model: 'subscription', monthlyPrice: 4.99, currency: 'EUR' } }),
      'ten_two',
    )
    expect((await room.mia.listRegistry()).modules).toMatchObject([{ version: '1.1.0', price: { cents: 499, currency: 'eur' } }])
    expect((await room.operator.listModules()).modules).toMatchObject([{ price: { cents: 499, currency: 'eur' } }])
    const install = (modulePriceCents?: number | null) =>
      room.mia.installModule({ body: { ...params, approvedPermissions: [], modulePriceCents } })
    for (const shown of [undefined, null, 299])
      await expect(install(shown)).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringMatching(/costs 4\.99 EUR a month.* Nothing was installed\. fix: .*modulePriceCents: 499$/),
      })
    expect((await room.mia.listInstallations()).modules).toEqual([])
    await install(499)
    expect(await room.mia.showInstallation({ params })).toMatchObject({ status: 'installed', price: { cents: 499 } })
  })

  test("an operator's false wins; a flag that an operator set to true, or that another module has, is taken", async () => {
    const room = await aRoom(await fresh())
    const setFlags = (flags: object) =>
      room.db
        .updateTable('tenants')
        .set({ feature_flags: JSON.stringify(flags) })
        .where('id', '=', 'ten_one')
        .execute()
    await setFlags({ attendance: true })
    expect(await codeOf(room.verbs.install())).toBe('FLAG_TAKEN')
    await setFlags({ attendance: false })
    await room.verbs.install()
    await room.verbs.activate()
    expect((await room.mia.bootstrap()).featureFlags).toEqual({ attendance: false })
    await approve(room.db, aManifest({ version: '2.0.0', featureFlag: 'presence' }), 'ten_two')
    await approve(room.db, aManifest({ id: 'hijack' }), 'ten_two')
    expect(await codeOf(room.mia.installModule({ body: { moduleId: 'hijack', approvedPermissions: [] } }))).toBe('FLAG_TAKEN')
  })

  test('a failing migration changes nothing and gives the message of the module', async () => {
    const fails = async () => {
      throw problem('MODULE_MIGRATION_FAILED', 'attendance 1.0.0: column missing')
    }
    const room = await aRoom(await fresh(), { deps: { prepare: fails } })
    await room.verbs.install()
    const before = [await room.events(), await room.audited()]
    const failure = await room.verbs.activate().catch((error) => error)
    expect(failure).toMatchObject({ code: 'MODULE_MIGRATION_FAILED', status: 422, message: 'attendance 1.0.0: column missing' })
    expect([await room.events(), await room.audited()]).toEqual(before)
    expect(await room.row()).toMatchObject({ status: 'installed', busy_until: null, activated_at: null })
    expect(await room.db.selectFrom('usage_events').selectAll().execute()).toEqual([])
  })

  test('while a migration runs nothing else changes the module; one that never ends blocks it for 90 s', async () => {
    const hung = new EventEmitter()
    const prepare = async (): Promise<never> => {
      const killed = once(hung, 'killed')
      hung.emit('begun')
      await killed
      throw problem('UNAVAILABLE', 'killed')
    }
    const begun = once(hung, 'begun')
    const room = await aRoom(await fresh(), { deps: { prepare } })
    await room.verbs.install()
    const activation = room.verbs.activate().catch(({ code }) => code)
    await begun
    expect(await codeOf(room.verbs.delete())).toBe('CONFLICT')
    expect(await codeOf(room.verbs.activate())).toBe('CONFLICT')
    await room.clock.advance(90_001)
    expect(await codeOf(room.verbs.delete())).toBe('ok')
    hung.emit('killed')
    expect(await activation).toBe('UNAVAILABLE')
    expect(await room.row()).toMatchObject({ status: 'pending_deletion' })
  })

  test('a daemon that lives keeps the module reserved; one that was killed blocks it for 20 s', async () => {
    const hung = new EventEmitter()
    const prepare = async (): Promise<never> => {
      const killed = once(hung, 'killed')
      hung.emit('begun')
      await killed
      throw problem('UNAVAILABLE', 'killed')
    }
    const room = await aRoom(await fresh(), { deps: { prepare } })
    const begun = once(hung, 'begun')
    await room.verbs.install()
    const activation = room.verbs.activate().catch(({ code }) => code)
    await begun
    for (let n = 0; n < 8; n++) {
      await room.clock.advance(5_000)
      await vi.waitFor(async () => expect((await room.row()).busy_until).toBe(isoIn(room.clock, 20_000)))
      expect(await codeOf(room.verbs.delete())).toBe('CONFLICT')
    }
    hung.emit('killed')
    expect(await activation).toBe('UNAVAILABLE')
    // As a daemon left it that was killed right after its last renewal.
    await room.db
      .updateTable('module_installations')
      .set({ busy_until: isoIn(room.clock, 20_000) })
      .execute()
    await room.clock.advance(20_001)
    expect(await codeOf(room.verbs.delete())).toBe('ok')
  })

  test('a reservation that expired is not renewed: the module may have run meanwhile, and its writes would be lost', async () => {
    const stalled = new EventEmitter()
    const prepare = async () => {
      const over = once(stalled, 'over')
      stalled.emit('begun')
      await over
      return { dataGeneration: 1, dataVersion: 1, dataBytes: 0 }
    }
    const room = await aRoom(await fresh(), { deps: { prepare } })
    await room.verbs.install()
    const begun = once(stalled, 'begun')
    const activation = room.verbs.activate().catch(({ code }) => code)
    await begun
    // As a daemon finds it that could not reach the database for 20 s.
    const expired = isoIn(room.clock, 0)
    await room.db.updateTable('module_installations').set({ busy_until: expired }).execute()
    await room.clock.advance(5_000)
    await room.clock.advance(5_000)
    stalled.emit('over')
    expect(await activation).toBe('CONFLICT')
    expect(await room.row()).toMatchObject({ status: 'installed', data_generation: 0 })
  })

  test('usage is recorded once a month, by the activation and the monthly job', async () => {
    const room = await aRoom(await fresh())
    await room.verbs.install()
    const usage = async () =>
      (await room.db.selectFrom('usage_events').selectAll().orderBy('billing_period').execute()).map(
        (one) => `${one.tenant_id} ${one.module_id} ${one.billing_period} ${one.event_type} ${one.quantity}`,
      )
    expect(await room.recordUsage()).toBe('0 usage events recorded')
    await room.verbs.activate()
    await room.verbs.deactivate()
    await room.verbs.activate()
    expect(await room.runJobs()).toContain('modules.billing')
    expect(await room.recordUsage()).toBe('0 usage events recorded')
    await room.clock.advance(31 * dayMs)
    expect(await room.recordUsage()).toBe('1 usage event recorded')
    expect(await usage()).toEqual(['ten_one attendance 2026-01 active 1', 'ten_one attendance 2026-02 active 1'])
  })

  test('installing during the retention keeps data and settings; other tenants see nothing of it', async () => {
    const room = await aRoom(await fresh())
    await room.verbs.install()
    await room.verbs.activate()
    await room.addDocuments('attendance', 0, ['a'])
    await room.verbs.delete()
    await room.verbs.install()
    expect(await room.row()).toMatchObject({ status: 'installed', data_delete_at: null, data_generation: 0 })
    expect(await room.documents()).toEqual(['ten_one attendance 0 a'])
    const olga = room.as('olga')
    expect((await olga.listInstallations()).modules).toEqual([])
    expect((await olga.listRegistry()).modules[0]?.installation).toBeNull()
    for (const call of [
      olga.activateModule,
      olga.uninstallModule,
      olga.showInstallation,
      olga.showModuleSettings,
      olga.listModuleRuns,
    ] as const)
      expect(await codeOf(call({ params } as never))).toBe('NOT_FOUND')
    expect([await room.events('ten_two'), (await olga.bootstrap()).modules]).toEqual([[], []])
  })

  test('a module reads events from its activation on', async () => {
    const room = await aRoom(await fresh())
    await room.verbs.install()
    expect(await room.db.selectFrom('module_positions').selectAll().execute()).toEqual([])
    await room.verbs.activate()
    const head = await room.db.selectFrom('streams').select('seq').where('stream', '=', 'tenant:ten_one').executeTakeFirstOrThrow()
    const [position] = await room.db.selectFrom('module_positions').selectAll().execute()
    expect(Number(position?.seq)).toBe(Number(head.seq))
    await room.verbs.pause()
    expect(await room.db.selectFrom('module_positions').selectAll().execute()).toHaveLength(1)
    await room.verbs.deactivate()
    expect(await room.db.selectFrom('module_positions').selectAll().execute()).toEqual([])
  })
})
