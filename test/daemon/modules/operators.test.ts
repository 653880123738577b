import { expect, test } from 'vitest'
import { isoIn, isoNow } from '../../../src/core/kit/index.ts'
import { acknowledgeAlert } from '../../../src/daemon/alerts/operator-actions.ts'
import { lockRunnable, runnableInstallation } from '../../../src/daemon/modules/runnable.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aManifest, aModulesWorld, approve } from '../../support/modules-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

const params = { moduleId: 'attendance' }
const key = { tenantId: 'ten_one', moduleId: 'attendance' }

async function anActive(db: Parameters<typeof aModulesWorld>[0]) {
  const room = await aModulesWorld(db)
  await approve(db, aManifest(), 'ten_two')
  const mia = room.as('mia')
  await mia.installModule({ body: { ...params, approvedPermissions: [] } })
  await mia.activateModule({ params })
  const runnable = () => runnableInstallation(db, room.clock, key)
  const commits = (generation: number) =>
    db.transaction().execute(async (tx) => (await lockRunnable(tx, room.clock, { ...key, generation })) !== undefined)
  return { ...room, mia, runnable, commits }
}

/** A paid app of 4.99 EUR a month whose module is `attendance`. */
async function installApp(db: Parameters<typeof aModulesWorld>[0], tenantId: string): Promise<void> {
  const at = '2026-03-01T00:00:00.000Z'
  await db
    .insertInto('marketplace_items')
    .values({
      ...{ id: 'item_1', item_type: 'app', slug: 'attendance', name: 'Attendance', description: '', icon_emoji: '', category: 'tools' },
      ...{ vendor_id: null, vendor_name: 'Acme', version: '1.0.0', status: 'published', price_model: 'flat-monthly', price_cents: 499 },
      ...{ currency: 'eur', payment_product_id: null, payment_price_id: 'price_1', bundle: '{}', screenshots: '[]', seed_key: null },
      ...{ seed_hash: null, changed_by_admin: 0, published_at: at, created_at: at, updated_at: at },
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db
    .insertInto('marketplace_subscriptions')
    .values({
      ...{ id: `msb_${tenantId}`, tenant_id: tenantId, item_id: 'item_1', item_type: 'app', installed_version: '1.0.0', status: 'active' },
      ...{ price_model: 'flat-monthly', price_cents: 499, currency: 'eur', payment_price_id: 'price_1', paid_until: null },
      ...{ payment_subscription_id: `sub_${tenantId}`, payment_subscription_item_id: 'si_1', payment_status: 'ok' },
      ...{ installed_template_id: null, module_id: 'attendance', installed_by: null, installed_at: at, cancelled_at: null, updated_at: at },
    })
    .execute()
}

onBothDialects('modules for operators', (fresh) => {
  test('a withdrawal and an uninstallation name the paid apps of 4.99 EUR that charge on', async () => {
    const db = await fresh()
    const room = await anActive(db)
    for (const tenantId of ['ten_one', 'ten_two']) await installApp(db, tenantId)
    const body = { reason: 'It sends data to strangers.' }
    expect(await room.operator.withdrawModule({ params: { id: 'attendance' }, body })).toMatchObject({ chargedApps: 2 })
    const alerts = () => db.selectFrom('alerts').select(['kind', 'status', 'subject', 'title']).execute()
    const alert = { kind: 'paid_module_withdrawn', subject: 'attendance', title: '1 tenant pays for an app of a withdrawn module' }
    expect(await alerts()).toEqual([{ ...alert, status: 'open' }])
    await room.operator.restoreModule({ params: { id: 'attendance' } })
    expect(await alerts()).toEqual([{ ...alert, status: 'closed' }])
    await room.operator.withdrawModule({ params: { id: 'attendance' }, body })
    expect(await room.mia.uninstallModule({ params })).toMatchObject({ chargedSubscriptionId: 'msb_ten_one' })
    await db.updateTable('marketplace_subscriptions').set({ status: 'cancelled' }).where('tenant_id', '=', 'ten_one').execute()
    expect(await room.mia.uninstallModule({ params })).toMatchObject({ chargedSubscriptionId: null })
    expect(await room.operator.withdrawModule({ params: { id: 'attendance' }, body })).toMatchObject({ versions: [], chargedApps: 1 })
  })

  test('a second withdrawal of a paid module after an acknowledgement raises the alert again', async () => {
    const db = await fresh()
    const room = await anActive(db)
    await installApp(db, 'ten_one')
    const withdraw = () => room.operator.withdrawModule({ params: { id: 'attendance' }, body: { reason: 'It sends data to strangers.' } })
    await withdraw()
    const { id } = await db.selectFrom('alerts').select('id').executeTakeFirstOrThrow()
    await acknowledgeAlert({ ...room, channels: [] }, anOperator, { id: Number(id) })
    // The tenants use the next version, which is withdrawn too.
    await approve(db, aManifest({ version: '1.1.0' }), 'ten_two')
    await db.updateTable('module_installations').set({ version: '1.1.0' }).execute()
    await withdraw()
    const alerts = await db.selectFrom('alerts').select(['kind', 'status']).orderBy('id').execute()
    expect(alerts.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'paid_module_withdrawn acknowledged',
      'paid_module_withdrawn open',
    ])
  })

  test('a withdrawn version starts nothing and commits nothing, on each replica; a restored one runs again', async () => {
    const db = await fresh()
    const room = await anActive(db)
    const other = await aModulesWorld(db, { isFirst: false })
    const begun = await room.runnable()
    const generation = begun?.generation ?? 0
    expect(await room.commits(generation)).toBe(true)
    const body = { reason: 'It sends data to strangers.' }
    const withdrawn = { moduleId: 'attendance', versions: ['1.0.0'] }
    expect(await other.operator.withdrawModule({ params: { id: 'attendance' }, body })).toEqual({ ...withdrawn, chargedApps: 0 })
    expect([await room.runnable(), await room.commits(generation)]).toEqual([undefined, false])
    expect((await room.mia.showInstallation({ params })).withdrawn).toEqual(body)
    expect((await room.mia.listRegistry()).modules).toEqual([])
    expect(await codeOf(room.as('olga').installModule({ body: { ...params, approvedPermissions: [] } }))).toBe('UNKNOWN_MODULE')
    expect(await other.runJobs()).toContain('modules.announce')
    expect((await room.mia.bootstrap()).modules).toMatchObject([{ enabled: false }])
    expect((await room.events()).at(-1)).toMatchObject({ type: 'module.withdrawn', payload: { moduleId: 'attendance', version: '1.0.0' } })
    expect(await other.operator.withdrawModule({ params: { id: 'attendance' }, body })).toEqual({
      ...withdrawn,
      versions: [],
      chargedApps: 0,
    })
    await room.mia.deactivateModule({ params })
    expect(await codeOf(room.mia.activateModule({ params }))).toBe('INVALID_TRANSITION')

    expect(await room.operator.restoreModule({ params: { id: 'attendance' } })).toEqual(withdrawn)
    await room.runJobs()
    await room.mia.activateModule({ params })
    expect([(await room.runnable()) !== undefined, await room.commits(generation)]).toEqual([true, false])
    const ofModule = (await room.audited()).filter((entry) => entry.endsWith(' attendance')).map((entry) => entry.split(' ')[0])
    expect(ofModule).toEqual(['module.withdrawn', 'module.restored'])
    expect(await codeOf(room.operator.withdrawModule({ params: { id: 'nothing' }, body }))).toBe('NOT_FOUND')
  })

  test('a withdrawal of one version leaves a newer one, which its tenants can update to', async () => {
    const room = await anActive(await fresh())
    await approve(room.db, aManifest({ version: '1.0.1' }), 'ten_two')
    await room.operator.withdrawModule({ params: { id: 'attendance' }, body: { reason: 'wrong sums', version: '1.0.0' } })
    expect(await room.runnable()).toBeUndefined()
    await room.mia.updateModule({ params })
    expect((await room.runnable())?.version).toBe('1.0.1')
    expect(await codeOf(room.mia.rollbackModule({ params }))).toBe('INVALID_TRANSITION')
    expect((await room.operator.listModules()).modules).toMatchObject([
      {
        ...{ moduleId: 'attendance', version: '1.0.1', status: 'active', installations: 1, activeInstallations: 1 },
        withdrawn: [{ version: '1.0.0', reason: 'wrong sums' }],
      },
    ])
  })

  test('a suspended tenant runs nothing', async () => {
    const room = await anActive(await fresh())
    const { generation = 0 } = (await room.runnable()) ?? {}
    await room.db.updateTable('tenants').set({ status: 'suspended' }).where('id', '=', 'ten_one').execute()
    expect([await room.runnable(), await room.commits(generation)]).toEqual([undefined, false])
  })

  test('health counts the runs of the last hour; a violation makes a module unhealthy for an hour', async () => {
    const room = await anActive(await fresh())
    const { operator, clock } = room
    const count = (bucket: string, count: number) =>
      room.db
        .insertInto('module_counters')
        .values({ module_id: 'attendance', version: '1.0.0', minute: `${isoNow(clock).slice(0, 16)}:00.000Z`, bucket, count })
        .execute()
    const performance = async () => (await operator.showModuleHealth({ params })).performance
    expect(await performance()).toEqual({ p95Ms: 0, p99Ms: 0, errorRate: 0, violations: [], healthy: true })
    await count('ms_5', 98)
    await count('ms_500', 2)
    await count('error', 4)
    expect(await performance()).toEqual({ p95Ms: 5, p99Ms: 500, errorRate: 0.04, violations: [], healthy: true })
    await count('violation_permission', 1)
    expect(await operator.listModuleHealth()).toMatchObject({
      modules: [
        {
          ...{ moduleId: 'attendance', name: 'Attendance', version: '1.0.0', activeInstallations: 1 },
          performance: { healthy: false, violations: [{ kind: 'permission', count: 1 }] },
        },
      ],
    })
    await clock.advance(30 * 60_000)
    await count('ms_1000', 3)
    await clock.advance(60_000)
    const { history } = await operator.showModuleHealth({ params })
    expect(history).toHaveLength(12)
    expect(history.filter(({ runs }) => runs > 0)).toMatchObject([
      { runs: 100, p95Ms: 5, p99Ms: 500, errorRate: 0.04 },
      { runs: 3, p95Ms: 1000, p99Ms: 1000, errorRate: 0 },
    ])
    expect(history.at(-1)).toMatchObject({ runs: 3, from: isoIn(clock, -5 * 60_000) })
    await clock.advance(61 * 60_000)
    expect((await performance()).healthy).toBe(true)
    expect(await codeOf(operator.showModuleHealth({ params: { moduleId: 'nothing' } }))).toBe('NOT_FOUND')
    await room.mia.deactivateModule({ params })
    expect(await operator.listModuleHealth()).toEqual({ modules: [] })
  })

  test('the audit log of a tenant names module, version and user, newest first', async () => {
    const room = await anActive(await fresh())
    await approve(room.db, aManifest({ id: 'grades', featureFlag: 'grades' }), 'ten_two')
    await room.mia.installModule({ body: { moduleId: 'grades', approvedPermissions: ['spaces:read'] } })
    await room.as('olga').installModule({ body: { moduleId: 'grades', approvedPermissions: [] } })
    const list = async (tenantId: string, query = {}) =>
      (await room.operator.listModuleAudit({ params: { tenantId }, query })).entries.map(({ action, moduleId }) => `${action} ${moduleId}`)
    const all = ['module.installed grades', 'module.activated attendance', 'module.installed attendance']
    expect(await list('ten_one')).toEqual(all)
    expect(await list('one')).toEqual(all)
    expect(await list('one', { limit: 1 })).toEqual(all.slice(0, 1))
    expect(await list('one', { moduleId: 'attendance' })).toEqual(all.slice(1))
    expect(await codeOf(list('one', { limit: 501 }))).toBe('VALIDATION')
    expect(await codeOf(list('nobody'))).toBe('NOT_FOUND')
    const { entries } = await room.operator.listModuleAudit({ params: { tenantId: 'one' } })
    expect(entries[0]).toMatchObject({ version: '1.0.0', actor: expect.stringContaining('mia'), data: { permissions: ['spaces:read'] } })
  })
})
