import { expect, test } from 'vitest'
import type { MarketplacePayments } from '../../../src/daemon/marketplace/index.ts'
import { assertCurrency } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aMarketplaceWorld, aSubmission, withoutPayments } from '../../support/marketplace-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

onBothDialects('the marketplace for operators', (fresh) => {
  async function aRoom() {
    const asked: unknown[] = []
    const record = (what: string) => async (_: unknown, about: unknown) => {
      asked.push([what, about])
    }
    const payments: MarketplacePayments = {
      ...withoutPayments,
      ...{ vendorCreated: record('account'), priceChanged: record('price'), termsChanged: record('terms') },
    }
    return { ...(await aMarketplaceWorld(await fresh(), { deps: { payments } })), asked }
  }

  test('slugs of one name get numbers and have at most 80 characters', async () => {
    const room = await aRoom()
    const slugs = []
    for (const name of ['Zu- & Abgänge', 'zu abgange', 'x'.repeat(120), 'x'.repeat(119), '🙂'])
      slugs.push((await room.published(aSubmission({ name }))).slug)
    expect(slugs).toEqual(['zu-abgange', 'zu-abgange-2', 'x'.repeat(80), `${'x'.repeat(78)}-2`, 'item'])
  })

  test('an approved paid item waits for its price; a change of price, vendor or fee becomes work at the provider', async () => {
    const room = await aRoom()
    const item = await room.published(aSubmission({ priceModel: 'flat-monthly', priceCents: 500 }))
    expect(room.asked).toEqual([['price', { itemId: item.id, former: null }]])
    room.asked.length = 0
    await room.db.updateTable('marketplace_items').set({ payment_price_id: 'price_1' }).execute()
    const change = (body: object) => room.operator.changeItem({ params: { id: item.id }, body })
    expect(await change({ priceModel: 'flat-monthly', priceCents: 500 })).toMatchObject({ paymentPriceId: 'price_1' })
    expect(await codeOf(change({ priceCents: 600 }))).toBe('VALIDATION')
    expect(await change({ priceModel: 'per-active-user', priceCents: 20 })).toMatchObject({ paymentPriceId: null, priceCents: 20 })
    expect(await change({ priceModel: null, priceCents: null })).toMatchObject({ priceModel: null, currency: null })
    const vendor = await room.operator.createVendor({
      body: { name: 'Bob', contactEmail: 'bob@vendor.example', applicationFeePercent: 12.5 },
    })
    expect(vendor).toMatchObject({ country: 'DE', paymentAccountStatus: 'pending', applicationFeePercent: 12.5 })
    expect(await change({ vendorId: vendor.id })).toMatchObject({ vendorName: 'Bob' })
    expect(await codeOf(change({ vendorId: 'vnd_none' }))).toBe('VALIDATION')
    const params = { id: vendor.id }
    expect(await room.operator.changeVendor({ params, body: { applicationFeePercent: 12.55, name: 'Bo' } })).toMatchObject({
      applicationFeePercent: 12.55,
    })
    expect(await codeOf(room.operator.changeVendor({ params, body: { applicationFeePercent: 12.555 } }))).toBe('VALIDATION')
    expect(await codeOf(room.operator.changeVendor({ params, body: {} }))).toBe('VALIDATION')
    expect(await room.operator.changeVendor({ params, body: { country: 'AT' } })).toMatchObject({ country: 'AT' })
    const account = (state: object) =>
      room.db
        .updateTable('marketplace_vendors')
        .set({ payment_account_id: 'acct_1', ...state })
        .where('id', '=', vendor.id)
        .execute()
    await account({ payment_account_status: 'active', charges_enabled: 1, payouts_enabled: 1 })
    await expect(room.operator.changeVendor({ params, body: { country: 'CH' } })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/acct_1 .* was created for AT.* fix: delete the account .*vendors sync/),
    })
    // Its onboarding continues with this account.
    await account({ payment_account_status: 'restricted', charges_enabled: 0, payouts_enabled: 0 })
    expect(await codeOf(room.operator.changeVendor({ params, body: { country: 'CH' } }))).toBe('CONFLICT')
    await account({ payment_account_gone: 1 })
    expect(await room.operator.changeVendor({ params, body: { country: 'CH' } })).toMatchObject({ country: 'CH' })
    expect(await codeOf(room.operator.createVendor({ body: { name: 'X', contactEmail: 'x@y.example', country: 'XX' as never } }))).toBe(
      'VALIDATION',
    )
    expect(room.asked).toEqual([
      // The same price, set again.
      ['price', { itemId: item.id, former: null }],
      ['price', { itemId: item.id, former: 'price_1' }],
      ['price', { itemId: item.id, former: null }],
      ['account', { vendorId: vendor.id }],
      ['terms', { itemId: item.id }],
      ['terms', { vendorId: vendor.id }],
    ])
    expect((await room.operator.listItems({})).items[0]?.vendorName).toBe('Bo')
    expect((await room.operator.listVendors({})).vendors).toHaveLength(2)
    expect(await room.audited()).toEqual([
      ...['marketplace.submission-approved', 'marketplace.item-changed', 'marketplace.item-changed', 'marketplace.vendor-created'],
      ...['marketplace.item-changed', 'marketplace.vendor-changed', 'marketplace.vendor-changed', 'marketplace.vendor-changed'],
    ])
  })

  test('an archived item is gone for those who have not installed it, and can be published again', async () => {
    const room = await aRoom()
    const { id } = await room.published()
    await room.as('mia').installMarketplaceItem({ params: { id } })
    const change = (status: 'draft' | 'archived' | 'published') => room.operator.changeItem({ params: { id }, body: { status } })
    await change('archived')
    expect((await room.as('mia').showMarketplaceItem({ params: { id } })).installed).toBe(true)
    expect(await codeOf(room.as('olga').showMarketplaceItem({ params: { id } }))).toBe('NOT_FOUND')
    expect(await codeOf(room.as('olga').installMarketplaceItem({ params: { id } }))).toBe('NOT_FOUND')
    expect((await room.as('mia').listMarketplaceItems({})).items).toEqual([])
    expect((await room.as('mia').listMarketplaceSubscriptions({})).subscriptions).toHaveLength(1)
    await room.db.updateTable('marketplace_items').set({ version: '2.0.0' }).execute()
    const [own] = (await room.as('mia').listMarketplaceSubscriptions({})).subscriptions
    expect(own).toMatchObject({ installedVersion: '1.0.0', currentVersion: '2.0.0', updateAvailable: false })
    const update = () => room.as('mia').updateMarketplaceItem({ params: { id: own?.id as string } })
    expect(await codeOf(update())).toBe('NOT_FOUND')
    expect(await codeOf(change('draft'))).toBe('INVALID_TRANSITION')
    expect((await change('published')).status).toBe('published')
    expect((await update()).subscription.installedVersion).toBe('2.0.0')
    await room.as('mia').uninstallMarketplaceItem({ params: { id: own?.id as string } })
    await expect(update()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/is uninstalled, .* fix: install it again/),
    })
    await room.runJobs()
    const events = await room.db.selectFrom('events').select('tenant_id').where('event_type', '=', 'marketplace.item_changed').execute()
    expect(new Set(events.map(({ tenant_id }) => tenant_id))).toEqual(new Set(['ten_one', 'ten_two']))
  })

  test('the price of a submission does not fix the currency, and one in another currency is not approved', async () => {
    const db = await fresh()
    const { clock, stranger } = await aMarketplaceWorld(db)
    const { submissionId: id } = await stranger.submitItem({ body: aSubmission({ priceModel: 'flat-monthly', priceCents: 500 }) })
    await assertCurrency(db, { currency: 'chf' })
    const room = await aMarketplaceWorld(db, { isFirst: false, clock, deps: { payments: { ...withoutPayments, currency: 'chf' } } })
    await expect(room.operator.approveMarketplaceSubmission({ params: { id } })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/is in EUR, and prices of the platform are in CHF\. fix: .*request-changes/),
    })
    expect(await room.db.selectFrom('marketplace_items').select('id').execute()).toEqual([])
    const { submissionId } = await room.stranger.submitItem({ body: aSubmission({ priceModel: 'flat-monthly', priceCents: 500 }) })
    expect((await room.operator.approveMarketplaceSubmission({ params: { id: submissionId } })).item.currency).toBe('chf')
    await expect(assertCurrency(db, { currency: 'eur' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  test('the mail of an approved version goes by the price of the item and the account of its vendor', async () => {
    const room = await aRoom()
    const paid = { priceModel: 'flat-monthly', priceCents: 500 } as const
    const approved = async (version: string, { price = {}, joins = {} }: { price?: object; joins?: object }) => {
      await room.clock.advance(3_600_000)
      const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission({ version, ...price }) })
      await room.db.updateTable('marketplace_submissions').set({ proven_at: '2026-01-01T00:00:00.000Z' }).execute()
      const { item, vendorId } = await room.operator.approveMarketplaceSubmission({ params: { id }, body: joins })
      await room.runJobs()
      return { joins: { itemId: item.id, vendorId }, mail: room.mails.findLast(({ subject }) => subject.endsWith('was approved'))?.text }
    }
    const free = await approved('1.0.0', {})
    const { mail } = await approved('2.0.0', { price: paid, joins: free.joins })
    expect(mail).toContain('Its price did not change: free. The price that you submitted does not apply.')
    expect([mail?.includes('install it now'), mail?.includes('payment account')]).toEqual([true, false])

    const first = await approved('1.0.0', { price: paid })
    expect(first.mail).toContain('once your payment account is complete')
    await room.db.updateTable('marketplace_vendors').set({ payment_account_status: 'active' }).execute()
    const next = await approved('2.0.0', { price: paid, joins: first.joins })
    expect(next.mail).toContain('Organisations can install it now.')
    expect(next.mail).not.toMatch(/did not change|payment account/)
  })

  test('a submission of a proven address names the vendors and items that it may join', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const item = await room.published(aSubmission({ vendorEmail: 'ann@vendor.example' }))
    await room.published(aSubmission({ vendorEmail: 'ben@vendor.example' }))
    await room.clock.advance(3_600_000)
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission({ version: '2.0.0' }) })
    const shown = async () => (await room.operator.showMarketplaceSubmission({ params: { id } })).vendors
    expect(await shown()).toEqual([])
    await room.db.updateTable('marketplace_submissions').set({ proven_at: '2026-01-01T00:00:00.000Z' }).execute()
    const [vendor] = await shown()
    expect(await shown()).toEqual([{ id: item.vendorId, name: 'Ann', items: [{ id: item.id, name: 'Visitors', version: '1.0.0' }] }])
    const body = { vendorId: vendor?.id, itemId: vendor?.items[0]?.id }
    expect((await room.operator.approveMarketplaceSubmission({ params: { id }, body })).item).toMatchObject({
      id: item.id,
      version: '2.0.0',
    })
    expect(await shown()).toEqual([])
  })

  test('the mail of a version of an archived item does not say that it is listed', async () => {
    const room = await aMarketplaceWorld(await fresh())
    const item = await room.published(aSubmission({ version: '1.0.0' }))
    await room.operator.changeItem({ params: { id: item.id }, body: { status: 'archived' } })
    await room.clock.advance(3_600_000)
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission({ version: '2.0.0' }) })
    await room.db.updateTable('marketplace_submissions').set({ proven_at: '2026-01-01T00:00:00.000Z' }).execute()
    const body = { itemId: item.id, vendorId: item.vendorId as string }
    expect((await room.operator.approveMarketplaceSubmission({ params: { id }, body })).item.status).toBe('archived')
    await room.runJobs()
    const text = room.mails.findLast(({ subject }) => subject.endsWith('was approved'))?.text
    expect(text).toContain('The item is not listed in the marketplace at present.')
    expect(text).toContain('Organisations can neither install it nor update to this version until the platform lists the item again.')
    expect(text).not.toContain('install it now')
  })

  test('a submission that waits for a day raises an alert, which its review closes; one that was reviewed raises none', async () => {
    const room = await aRoom()
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    const { submissionId: other } = await room.stranger.submitItem({ body: aSubmission() })
    await room.operator.rejectMarketplaceSubmission({ params: { id: other }, body: { reason: 'Twice.' } })
    const alerts = () => room.db.selectFrom('alerts').select(['kind', 'subject', 'status', 'command']).execute()
    const alert = { kind: 'review_due', subject: id, command: `tenantry marketplace submissions show ${id}` }
    await room.clock.advance(23 * 3_600_000)
    await room.runJobs()
    expect(await alerts()).toEqual([])
    await room.clock.advance(3_600_000)
    await room.runJobs()
    expect(await alerts()).toEqual([{ ...alert, status: 'open' }])
    await room.operator.requestMarketplaceChanges({ params: { id }, body: { reason: 'Say more.' } })
    await room.runJobs()
    expect(await alerts()).toEqual([{ ...alert, status: 'closed' }])
    const token = /token=([^'\s]+)/.exec(room.mails.at(-1)?.text ?? '')?.[1] ?? ''
    await room.stranger.repeatSubmission({ params: { id }, query: { token }, body: aSubmission() })
    await room.clock.advance(24 * 3_600_000)
    await room.runJobs()
    expect((await alerts()).map(({ status }) => status)).toEqual(['closed', 'open'])
  })

  test('a rejected submission leads nowhere, and its mail has the reason', async () => {
    const room = await aRoom()
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    expect(await codeOf(room.operator.rejectMarketplaceSubmission({ params: { id }, body: { reason: ' ' } }))).toBe('VALIDATION')
    await room.operator.rejectMarketplaceSubmission({ params: { id }, body: { reason: 'Too small.\nSorry.' } })
    expect(await codeOf(room.operator.approveMarketplaceSubmission({ params: { id }, body: {} }))).toBe('INVALID_TRANSITION')
    await room.runJobs()
    expect(room.mails.at(-1)?.text).toContain('    Too small.\n    Sorry.')
    expect((await room.operator.listMarketplaceSubmissions({ query: { status: 'rejected' } })).submissions).toHaveLength(1)
    expect(await room.audited()).toEqual(['marketplace.submission-rejected'])
  })

  test('a submission whose vendor does not answer a request for changes is rejected, and its token ends', async () => {
    const room = await aRoom()
    const { submissionId: id } = await room.stranger.submitItem({ body: aSubmission() })
    await room.operator.requestMarketplaceChanges({ params: { id }, body: { reason: 'Say more.' } })
    await room.runJobs()
    const token = /token=([^'\s]+)/.exec(room.mails.at(-1)?.text ?? '')?.[1] ?? ''
    await room.operator.rejectMarketplaceSubmission({ params: { id }, body: { reason: 'No answer.' } })
    await room.runJobs()
    expect(room.mails.at(-1)).toMatchObject({ subject: 'Visitors was rejected', text: expect.stringContaining('No answer.') })
    const again = room.stranger.repeatSubmission({ params: { id }, query: { token }, body: aSubmission() })
    expect(await codeOf(again)).toBe('INVALID_TRANSITION')
    expect(await room.audited()).toEqual(['marketplace.submission-needs-changes', 'marketplace.submission-rejected'])
  })
})
