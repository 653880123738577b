import { expect, test } from 'vitest'
import { reconcilePage } from '../../../src/daemon/billing/reconcile.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

onBothDialects('the fix of a difference', (fresh) => {
  test('names the customer of a live subscription that the tenant had before', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const other = await room.provider.createCustomer({ key: 'other', name: 'N', email: 'n@n.example', metadata: {} })
    await room.db.updateTable('tenants').set({ payment_customer_id: other.id }).execute()
    const { differences } = await reconcilePage(room.deps, { limit: 50 })
    expect(differences.map(({ kind, there, fix }) => [kind, there, fix])).toEqual([
      [
        ...['subscription_missing', `active, belongs to customer ${room.customer.id}`],
        expect.stringContaining(`tenantry tenants update acme --payment-customer ${room.customer.id}, or`),
      ],
    ])
    await room.db.updateTable('tenants').set({ payment_customer_id: room.customer.id }).execute()
    expect((await reconcilePage(room.deps, { limit: 50 })).differences).toEqual([])
  })

  test('is not asked for an uninstalled item that the tenant installed again once it was free', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.runJobs()
    const free = { price_model: null, price_cents: null, currency: null, payment_price_id: null }
    await room.db
      .updateTable('marketplace_subscriptions')
      .set({
        ...free,
        status: 'active',
        payment_subscription_id: null,
        payment_subscription_item_id: null,
        paid_until: null,
        cancelled_at: null,
      })
      .execute()
    expect((await reconcilePage(room.deps, { limit: 50 })).differences).toEqual([])
    const [sub] = [...room.double.subscriptions.values()]
    Object.assign(sub ?? {}, { cancelAtPeriodEnd: false })
    expect((await reconcilePage(room.deps, { limit: 50 })).differences).toMatchObject([{ kind: 'subscription_unknown' }])
  })

  test('does not send terms to a subscription with tax', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const [sub] = [...room.double.subscriptions.values()]
    Object.assign(sub ?? {}, { isTaxed: true, destination: null, applicationFeePercent: null })
    const { differences } = await reconcilePage(room.deps, { limit: 50 })
    expect(differences.map(({ kind, fix }) => [kind, fix])).toEqual([
      ['terms_differ', expect.stringMatching(/^the tenant uninstalls the item and installs it again .* or tenantry billing accept/)],
    ])
  })

  test('is found with one call for each module invoice of the last six months, whatever came before', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.install()
    await room.until('2027-06-20T00:00:00.000Z')
    const before = room.double.calls.length
    expect((await reconcilePage(room.deps, { limit: 50 })).differences).toEqual([])
    const names = room.double.calls.slice(before).map(({ operation }) => operation)
    expect(names.filter((one) => one === 'getInvoice')).toHaveLength(6)
    // 15 modules at 5.00 and 16 months at 10.00.
    expect(room.money()[0]).toBe(23_500)
  })
})
