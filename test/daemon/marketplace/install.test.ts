import { expect, test } from 'vitest'
import { type BoardDefinition, type SimulationScript, simulateBoard } from '../../../src/core/boards/index.ts'
import { planBundle } from '../../../src/daemon/marketplace/bundle.ts'
import { activateInstalled, findItem, findSubscription, type ItemRecord, publishSeeds } from '../../../src/daemon/marketplace/index.ts'
import { installItem, noPayment, storeInstallation } from '../../../src/daemon/marketplace/install-item.ts'
import { activateModule, installModuleIn } from '../../../src/daemon/modules/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { mortal } from '../../support/dying.ts'
import { aMarketplaceWorld, anApp, aSubmission, type MarketplaceWorld } from '../../support/marketplace-world.ts'
import { aManifest, approve } from '../../support/modules-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

const install = (room: MarketplaceWorld, id: string, who = 'mia') => room.as(who).installMarketplaceItem({ params: { id } })
const jobOfOne = { kind: 'system', name: 'payments', tenantId: 'ten_one', tenantSlug: 'one' } as const
const stateOf = async ({ db }: MarketplaceWorld) => ({
  boards: (await db.selectFrom('boards').select('id').execute()).length,
  subscriptions: await db.selectFrom('marketplace_subscriptions').select(['status', 'installed_template_id']).execute(),
})

onBothDialects('installs of the marketplace', (fresh) => {
  test('a free flow is copied as a board, uninstalled and installed again; the copies stay', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published()
    const { subscription, activation } = await install(room, id)
    expect(activation).toBeNull()
    expect(subscription).toMatchObject({ status: 'active', installedVersion: '1.0.0', updateAvailable: false, priceModel: null })
    const board = await room.as('mia').showBoard({ params: { id: subscription.installedTemplateId as string } })
    expect(board).toMatchObject({ name: 'Visitor', status: 'draft' })
    expect(board.definition.elements.find(({ id: own }) => own === 'approve')?.columnId).toBe('before')
    expect(await codeOf(install(room, id))).toBe('ALREADY_INSTALLED')
    expect((await room.as('mia').showMarketplaceItem({ params: { id } })).installed).toBe(true)
    expect((await room.as('olga').showMarketplaceItem({ params: { id } })).installed).toBe(false)
    expect(await codeOf(room.as('olga').uninstallMarketplaceItem({ params: { id: subscription.id } }))).toBe('NOT_FOUND')
    for (const _ of [1, 2])
      expect((await room.as('mia').uninstallMarketplaceItem({ params: { id: subscription.id } })).status).toBe('cancelled')
    const again = await install(room, id)
    expect(again.subscription.id).toBe(subscription.id)
    expect(await stateOf(room)).toMatchObject({ boards: 2, subscriptions: [{ status: 'active' }] })
    expect((await room.audited()).slice(1)).toEqual(['marketplace.installed', 'marketplace.uninstalled', 'marketplace.installed'])
    const types = await room.db.selectFrom('events').select('event_type').where('event_type', 'like', 'subscription.%').execute()
    expect(types).toHaveLength(3)
  })

  test.each(['suspended', 'deleting'] as const)('a tenant that is %s installs nothing', async (status) => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published()
    const item = await findItem(room.db, id)
    const actor = { kind: 'user', userId: 'usr_x', tenantId: 'ten_one', tenantSlug: 'one', capabilities: ['manageMarketplace'] }
    await room.db.updateTable('tenants').set({ status }).execute()
    const { id: tenantId, slug: tenantSlug } = await room.db.selectFrom('tenants').select(['id', 'slug']).executeTakeFirstOrThrow()
    await expect(installItem(room as never, { ...actor, tenantId, tenantSlug } as never, { id })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(status === 'deleting' ? 'being deleted' : 'suspended'),
    })
    expect([item?.status, await stateOf(room)]).toEqual(['published', { boards: 0, subscriptions: [] }])
  })

  test('of ten parallel installs one is made', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published()
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(install(room, id))))
    expect(codes.toSorted()).toEqual([...Array(9).fill('ALREADY_INSTALLED'), 'ok'])
    expect((await stateOf(room)).boards).toBe(1)
  })

  test('killed before or after any statement, an install is made whole or not at all', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published()
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const life = mortal(room.db, steps)
      const replica = await aMarketplaceWorld(room.db, { isFirst: false, clock: room.clock, deps: { db: life.db } })
      await codeOf(install(replica, id))
      isDone = !life.isDead()
      const { boards, subscriptions } = await stateOf(room)
      expect([boards, subscriptions.length]).toEqual(boards === 0 ? [0, 0] : [1, 1])
      if (boards === 1) break
      expect(steps).toBeLessThan(60)
    }
    expect(await codeOf(install(room, id))).toBe('ALREADY_INSTALLED')
    expect((await stateOf(room)).boards).toBe(1)
  })

  test('an app installs the permissions of bundle and manifest, ends active, and is deactivated by the uninstall', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published(anApp())
    expect(await codeOf(install(room, id))).toBe('MODULE_NOT_REGISTERED')
    const shown = { params: { id }, body: { modulePriceCents: 499 } }
    expect(await codeOf(room.as('mia').installMarketplaceItem(shown))).toBe('MODULE_NOT_REGISTERED')
    expect((await room.as('mia').showMarketplaceItem({ params: { id } })).obstacle?.code).toBe('MODULE_NOT_REGISTERED')
    await approve(room.db, aManifest(), 'ten_one')
    expect(await room.as('mia').showMarketplaceItem({ params: { id } })).toMatchObject({ permissions: ['spaces:read'], obstacle: null })
    expect(await codeOf(install(room, id, 'tim'))).toBe('FORBIDDEN')
    const { subscription } = await install(room, id)
    expect(subscription.moduleId).toBe('attendance')
    expect(await room.modules.row()).toMatchObject({ status: 'active', permissions: '["spaces:read"]' })
    await room.as('mia').uninstallMarketplaceItem({ params: { id: subscription.id } })
    expect(await room.modules.row()).toMatchObject({ status: 'deactivated', data_delete_at: expect.any(String) })
    expect((await install(room, id)).activation).toBeNull()
    expect(await room.modules.row()).toMatchObject({ status: 'active', data_delete_at: null })
  })

  test('an app is active again also between the end of its retention and the night that deletes its data, and begins empty', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published(anApp())
    await approve(room.db, aManifest(), 'ten_one')
    const { subscription } = await install(room, id)
    await room.db.updateTable('module_installations').set({ settings: '{"old":true}' }).execute()
    await room.as('mia').uninstallMarketplaceItem({ params: { id: subscription.id } })
    await room.clock.advance(30 * 24 * 3_600_000)
    expect((await install(room, id)).activation).toBeNull()
    expect(await room.modules.row()).toMatchObject({
      status: 'active',
      data_delete_at: null,
      settings: '{}',
      permissions: '["spaces:read"]',
    })
  })

  test('an app whose module has a price of its own shows it; the reviewer is warned that both are charged', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest({ billing: { model: 'subscription', monthlyPrice: 4.99, currency: 'EUR' } }), 'ten_one')
    await room.clock.advance(3_600_000)
    const { submissionId, warnings } = await room.stranger.submitItem({ body: anApp({ priceModel: 'flat-monthly', priceCents: 300 }) })
    expect(warnings.slice(1)).toEqual([
      'The module attendance costs 4.99 EUR a month itself. Tenants are charged for both: the module and the app.',
    ])
    const { item } = await room.operator.approveMarketplaceSubmission({ params: { id: submissionId }, body: {} })
    const shown = await room.as('mia').showMarketplaceItem({ params: { id: item.id } })
    expect([shown.priceCents, shown.modulePrice]).toEqual([300, { cents: 499, currency: 'eur' }])
    const { id } = await room.published()
    expect((await room.as('mia').showMarketplaceItem({ params: { id } })).modulePrice).toBeNull()
  })

  test('installed again within 30 days the module keeps its version: its price is shown, accepted and charged', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const billing = (monthlyPrice: number) => ({ billing: { model: 'subscription', monthlyPrice, currency: 'EUR' } })
    await approve(room.db, aManifest(billing(4.99)), 'ten_one')
    const { id } = await room.published(anApp())
    const accept = (modulePriceCents: number) => room.as('mia').installMarketplaceItem({ params: { id }, body: { modulePriceCents } })
    await expect(install(room, id)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/costs 4\.99 EUR a month, and the request names no price\..*modulePriceCents: 499$/),
    })
    const { subscription } = await accept(499)
    await room.as('mia').uninstallMarketplaceItem({ params: { id: subscription.id } })
    await approve(room.db, aManifest({ version: '1.1.0', ...billing(9.99) }), 'ten_one')
    const shown = async (who: string) => (await room.as(who).showMarketplaceItem({ params: { id } })).modulePrice?.cents
    expect([await shown('mia'), await shown('olga')]).toEqual([499, 999])
    expect(await codeOf(accept(999))).toBe('CONFLICT')
    await accept(499)
    expect(await room.modules.row()).toMatchObject({ status: 'active', version: '1.0.0' })
  })

  test('an app whose installed version of the module was withdrawn is refused before anything happens', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const { id } = await room.published(anApp())
    const { subscription } = await install(room, id)
    await room.as('mia').uninstallMarketplaceItem({ params: { id: subscription.id } })
    await approve(room.db, aManifest({ version: '1.1.0' }), 'ten_one')
    const withdrawn = { params: { id: 'attendance' }, body: { version: '1.0.0', reason: 'It leaks.' } }
    await room.modules.operator.withdrawModule(withdrawn)
    await expect(install(room, id)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/version 1\.0\.0 was withdrawn: It leaks\. fix: uninstall the module/),
    })
    await room.modules.as('mia').uninstallModule({ params: { moduleId: 'attendance' } })
    await install(room, id)
    expect(await room.modules.row()).toMatchObject({ status: 'active', version: '1.1.0' })
  })

  test('a module that the organisation installed on its own stays when the app is uninstalled', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const own = { actor: jobOfOne, moduleId: 'attendance', approvedPermissions: [] }
    await room.db.transaction().execute((tx) => installModuleIn(room.deps, tx, own))
    await activateModule(room.deps, jobOfOne, own)
    const { id } = await room.published(anApp())
    const { subscription } = await install(room, id)
    await room.as('mia').uninstallMarketplaceItem({ params: { id: subscription.id } })
    expect((await room.modules.row()).status).toBe('active')
  })

  test('a module that apps installed ends with the last of them, also when it is installed again', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const [first, second] = [await room.published(anApp()), await room.published(anApp({ name: 'Attendance too' }))]
    const uninstall = (id: string) => room.as('mia').uninstallMarketplaceItem({ params: { id } })
    for (const _ of [1, 2]) {
      const { subscription: one } = await install(room, first.id)
      const { subscription: two } = await install(room, second.id)
      await uninstall(one.id)
      expect((await room.modules.row()).status).toBe('active')
      await uninstall(two.id)
      expect((await room.modules.row()).status).toBe('deactivated')
    }
  })

  test('a module ends with the last of its apps when two of them are uninstalled at once', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const items = [await room.published(anApp()), await room.published(anApp({ name: 'Attendance too' }))]
    const installed = []
    for (const { id } of items) installed.push((await install(room, id)).subscription.id)
    await Promise.all(installed.map((id) => room.as('mia').uninstallMarketplaceItem({ params: { id } })))
    expect((await room.modules.row()).status).toBe('deactivated')
  })

  test('a module ends with its app also if the former app was uninstalled after the dry run', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const [first, second] = [await room.published(anApp()), await room.published(anApp({ name: 'Attendance too' }))]
    const uninstall = (id: string) => room.as('mia').uninstallMarketplaceItem({ params: { id } })
    const { subscription: one } = await install(room, first.id)
    const item = (await findItem(room.db, second.id)) as ItemRecord
    const plan = await planBundle(room.deps, jobOfOne, item)
    await uninstall(one.id)
    const input = { actor: jobOfOne, item, plan, payment: noPayment }
    const two = await room.db.transaction().execute((tx) => storeInstallation(room.deps, tx, input))
    expect((await install(room, second.id)).activation).toBeNull()
    await uninstall(two.id)
    expect((await room.modules.row()).status).toBe('deactivated')
  })

  test('a job activates the module of an app that it finished', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const { id } = await room.published(anApp())
    const failing = async () => {
      throw new Error('killed')
    }
    const broken = await aMarketplaceWorld(room.db, { isFirst: false, clock: room.clock, deps: { prepare: failing as never } })
    await codeOf(install(broken, id))
    const stored = await findSubscription(room.db, { tenantId: 'ten_one', itemId: id })
    if (!stored) throw new Error('not installed')
    for (const _ of [1, 2]) expect(await activateInstalled(room.deps, jobOfOne, stored)).toBeNull()
    expect((await room.modules.row()).status).toBe('active')
    // What an administrator deactivated since stays so.
    await room.db.updateTable('module_installations').set({ status: 'deactivated' }).execute()
    await activateInstalled(room.deps, jobOfOne, stored)
    expect((await room.modules.row()).status).toBe('deactivated')
  })

  test('a failed activation leaves the module installed, is named, and the repeated request activates it', async () => {
    const room = await aMarketplaceWorld(await fresh())
    await approve(room.db, aManifest(), 'ten_one')
    const { id } = await room.published(anApp())
    const failing = async () => {
      throw Object.assign(new Error('no'), {})
    }
    const broken = await aMarketplaceWorld(room.db, { isFirst: false, clock: room.clock, deps: { prepare: failing as never } })
    expect(await codeOf(install(broken, id))).toBe('INTERNAL')
    expect((await room.modules.row()).status).toBe('installed')
    const { subscription, activation } = await install(room, id)
    expect([subscription.status, activation, (await room.modules.row()).status]).toEqual(['active', null, 'active'])
  })

  test('a newer version is offered, and its copy is beside the old board', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const first = await room.stranger.submitItem({ body: aSubmission() })
    const { item, vendorId } = await room.operator.approveMarketplaceSubmission({ params: { id: first.submissionId }, body: {} })
    const { subscription } = await install(room, item.id)
    const next = await room.stranger.submitItem({ body: aSubmission({ version: '1.1.0' }) })
    const join = (body: object) => room.operator.approveMarketplaceSubmission({ params: { id: next.submissionId }, body })
    expect(await codeOf(join({ vendorId, itemId: item.id }))).toBe('CONFLICT')
    await room.db.updateTable('marketplace_submissions').set({ proven_at: '2026-01-01T00:00:00.000Z' }).execute()
    await room.db
      .updateTable('marketplace_submissions')
      .set({ vendor_email: 'eve@evil.example' })
      .where('id', '=', next.submissionId)
      .execute()
    expect(await codeOf(join({ vendorId, itemId: item.id }))).toBe('CONFLICT')
    const { contactEmail } = (await room.operator.listVendors({ query: {} })).vendors[0] as { contactEmail: string }
    await room.db.updateTable('marketplace_submissions').set({ vendor_email: contactEmail.toUpperCase() }).execute()
    await expect(join({ vendorId: null, itemId: item.id })).rejects.toMatchObject({
      ...{ code: 'VALIDATION', message: expect.stringContaining(`belongs to another vendor. fix: pass its vendor ${vendorId}`) },
    })
    await expect(join({ vendorId, itemId: 'itm_nope' })).rejects.toMatchObject({
      ...{ code: 'VALIDATION', message: expect.stringContaining('itemId: itm_nope does not exist') },
    })
    expect((await join({ vendorId, itemId: item.id })).item).toMatchObject({ id: item.id, version: '1.1.0', slug: item.slug })
    const listed = await room.as('mia').listMarketplaceItems({ query: { installed: 'true' } })
    expect(listed.items).toMatchObject([{ updateAvailable: true, installedVersion: '1.0.0' }])
    const update = () => room.as('mia').updateMarketplaceItem({ params: { id: subscription.id } })
    const updated = (await update()).subscription
    expect(updated).toMatchObject({ installedVersion: '1.1.0', updateAvailable: false })
    expect(updated.installedTemplateId).not.toBe(subscription.installedTemplateId)
    expect((await update()).subscription).toEqual(updated)
    expect((await stateOf(room)).boards).toBe(2)
    expect(await room.audited()).toContain('marketplace.updated')
  })

  test('a new version of an app names the same module: an update installs no other one', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const first = await room.stranger.submitItem({ body: anApp() })
    const { item, vendorId } = await room.operator.approveMarketplaceSubmission({ params: { id: first.submissionId } })
    const join = async (version: string, flag: string) => {
      const manifest = { moduleKey: flag, featureFlag: flag, permissions: ['spaces:read'] }
      const { submissionId: id } = await room.stranger.submitItem({ body: anApp({ version, bundle: { manifest } }) })
      await room.db.updateTable('marketplace_submissions').set({ proven_at: '2026-01-01T00:00:00.000Z' }).execute()
      return room.operator.approveMarketplaceSubmission({ params: { id }, body: { vendorId, itemId: item.id } })
    }
    await expect(join('2.0.0', 'attendance-two')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/feature flag attendance, and the submission names attendance-two; .*fix: approve it as a new item/),
    })
    expect((await join('2.0.0', 'attendance')).item.version).toBe('2.0.0')
  })

  test('without a provider a paid item shows no configuration and cannot be installed', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published(aSubmission({ priceModel: 'flat-monthly', priceCents: 500 }))
    const shown = await room.as('mia').showMarketplaceItem({ params: { id } })
    expect(shown).toMatchObject({ priceCents: 500, currency: 'eur', obstacle: { code: 'PAYMENTS_UNAVAILABLE' } })
    // Who cannot buy is told nothing of payments, such as an unpaid invoice.
    expect(await room.as('anna').showMarketplaceItem({ params: { id } })).toMatchObject({ priceCents: 500, obstacle: null })
    expect(JSON.stringify(shown.bundle)).not.toContain('config')
    expect(await codeOf(install(room, id))).toBe('PAYMENTS_UNAVAILABLE')
    expect((await stateOf(room)).subscriptions).toEqual([])
  })

  test('an accepted price that changed is refused before anything happens', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const { id } = await room.published(aSubmission({ priceModel: 'flat-monthly', priceCents: 500 }))
    const free = await room.published()
    const accept = (item: string, priceCents: number | null | undefined) =>
      codeOf(room.as('mia').installMarketplaceItem({ params: { id: item }, body: { priceCents } }))
    expect([await accept(id, 400), await accept(id, null), await accept(free.id, 100)]).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT'])
    expect((await stateOf(room)).subscriptions).toEqual([])
    // A paid item is not bought by a request that names no price; why it cannot be bought comes first.
    expect(await accept(id, undefined)).toBe('PAYMENTS_UNAVAILABLE')
    expect([await accept(id, 500), await accept(free.id, null)]).toEqual(['PAYMENTS_UNAVAILABLE', 'ok'])
  })

  test('an item that gets a price while it is installed for free is not installed', async () => {
    const db = await fresh()
    let change: (() => Promise<unknown>) | undefined
    const roomsOf = async () => {
      await change?.()
      return []
    }
    const room = await aMarketplaceWorld(db, { deps: { roomsOf } })
    const { id } = await room.published()
    change = async () => {
      change = undefined
      await room.operator.changeItem({ params: { id }, body: { priceModel: 'flat-monthly', priceCents: 1000 } })
    }
    expect(await codeOf(install(room, id))).toBe('CONFLICT')
    expect((await stateOf(room)).subscriptions).toEqual([])
  })

  test('each seed is published once, can be played to its end, and stays as an admin left it', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const items = await room.seeded()
    expect(items.map(({ slug }) => slug).toSorted()).toEqual(['absence', 'crisis-alert', 'incident-review', 'onboarding', 'visitor'])
    for (const { id, slug } of items) {
      const { subscription } = await install(room, id)
      const { definition } = await room.as('mia').showBoard({ params: { id: subscription.installedTemplateId as string } })
      const played = simulateBoard(
        definition,
        { startedBy: 'mia', variables: {}, answers: answersOf(definition) } as never,
        '2026-11-02T08:00:00.000Z',
      )
      expect([slug, played.outcome]).toEqual([slug, 'completed'])
    }
    const [first, second] = items
    await room.operator.changeItem({ params: { id: first?.id as string }, body: { status: 'archived' } })
    await room.db.updateTable('marketplace_items').set({ seed_hash: 'older', name: 'Older' }).execute()
    await Promise.all([publishSeeds(room.deps), publishSeeds(room.deps)])
    const after = (await room.operator.listItems({})).items
    expect(after).toHaveLength(5)
    expect(after.find(({ id }) => id === first?.id)).toMatchObject({ status: 'archived', name: 'Older' })
    expect(after.find(({ id }) => id === second?.id)?.name).not.toBe('Older')
    expect(await room.audited()).toContain('marketplace.item-changed')
  })
})

/** Every form, task and checkpoint is answered at once, as often as a loop comes back to it. */
function answersOf({ elements }: BoardDefinition): SimulationScript['answers'] {
  const answered = elements.filter(({ kind }) => ['form', 'task', 'checkpoint'].includes(kind))
  return Object.fromEntries(
    answered.map((element) => {
      const data = element.kind === 'form' ? { data: valuesOf(element.config.fields) } : {}
      return [element.id, Array.from({ length: 5 }, () => ({ ...data, after: 'PT1M' }))]
    }),
  )
}

const valuesOf = (fields: readonly Readonly<{ name: string; kind: string; min?: unknown; options?: string[] }>[]) =>
  Object.fromEntries(fields.flatMap((field) => (field.kind in values ? [[field.name, values[field.kind]?.(field)]] : [])))

const values: Readonly<Record<string, (field: Readonly<{ min?: unknown; options?: string[] }>) => unknown>> = {
  text: () => 'A longer text.',
  number: ({ min }) => min ?? 1,
  date: () => '2026-11-10',
  choice: ({ options }) => options?.[0],
}
