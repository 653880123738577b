import { expect, test } from 'vitest'
import { acceptDifference } from '../../../src/daemon/billing/accept-difference.ts'
import { createPaymentCustomer, showTenantBilling } from '../../../src/daemon/billing/customers.ts'
import { billingFeature, endPayments } from '../../../src/daemon/billing/index.ts'
import { reconcilePage } from '../../../src/daemon/billing/reconcile.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { changeItem } from '../../../src/daemon/marketplace/change-item.ts'
import { noProvider } from '../../../src/daemon/payments/index.ts'
import { syncVendor } from '../../../src/daemon/payments/vendors.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const
type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** An installed item and a module, a month later: everything is alike on both sides. */
async function aMonth(db: Db) {
  const room = await aBillingWorld(db, { priceModel: 'per-active-user', priceCents: 150, transferPayouts: true })
  await room.developer()
  await room.install()
  await room.module('attendance', 500)
  await room.active(3)
  await room.until('2026-04-06T00:00:00.000Z')
  const sub = (await room.rows())[0]?.payment_subscription_id as string
  return { ...room, sub }
}

const change = (room: Room, id: string, patch: object) => void Object.assign(room.double.subscriptions.get(id) ?? {}, patch)

onBothDialects('the comparison with the provider', (fresh) => {
  test('nothing differs after a month', async () => {
    const room = await aMonth(await fresh())
    expect(await reconcilePage(room.deps, { limit: 20 })).toEqual({ differences: [], accepted: 0, checked: 1, nextCursor: null })
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
  })

  type Act = (room: Awaited<ReturnType<typeof aMonth>>) => unknown
  test.each<[string, Act]>([
    ['customer_missing', (room) => room.double.deleteCustomer(room.customer.id)],
    ['subscription_missing', (room) => change(room, room.sub, { status: 'canceled' })],
    ['subscription_ends', (room) => change(room, room.sub, { cancelAtPeriodEnd: true })],
    ['terms_differ', (room) => change(room, room.sub, { applicationFeePercent: 5 })],
    ['payment_status_differs', (room) => change(room, room.sub, { status: 'past_due' })],
    ['price_differs', (room) => change(room, room.sub, { priceId: 'price_other' })],
    [
      'subscription_unknown',
      (room) =>
        room.double.subscriptions.set('sub_2', { ...(room.double.subscriptions.get(room.sub) as never as object), id: 'sub_2' } as never),
    ],
    ['account_differs', (room) => room.double.setAccount(room.account.id, { pastDue: ['tax'] })],
    [
      'item_price_differs',
      async (room) => {
        const { paymentPriceId } = await room.item()
        Object.assign(room.double.prices.get(paymentPriceId as string) ?? {}, { active: false })
      },
    ],
    [
      'usage_not_invoiced',
      (room) => {
        for (const invoice of room.double.invoices.values()) if (invoice.subscriptionId === room.sub) invoice.lines = []
      },
    ],
    [
      'module_not_invoiced',
      (room) => {
        for (const invoice of room.double.invoices.values()) if (invoice.subscriptionId === null) invoice.lines = []
      },
    ],
    [
      'module_refunded',
      (room) => {
        for (const invoice of room.double.invoices.values()) if (invoice.subscriptionId === null) room.double.refundInvoice(invoice.id)
      },
    ],
    ['billing_address_differs', (room) => room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()],
    ['transfer_missing', (room) => room.double.transfers.clear()],
    [
      'transfer_differs',
      (room) => {
        for (const [id, transfer] of room.double.transfers) room.double.transfers.set(id, { ...transfer, reversedCents: 100 })
      },
    ],
    [
      'plan_differs',
      (room) =>
        room.double.subscriptions.set('sub_p', {
          ...(room.double.subscriptions.get(room.sub) as never as object),
          ...{ id: 'sub_p', metadata: { svc_kind: 'plan', svc_tenant: 'ten_acme', svc_plan: 'pro' } },
        } as never),
    ],
  ])('%s is named, and nothing is changed', async (kind, act) => {
    const room = await aMonth(await fresh())
    await act(room)
    const before = [await room.rows(), await room.reports(), await room.usage(), await room.payouts()]
    const calls = room.double.calls.length
    const { differences } = await reconcilePage(room.deps, { limit: 20 })
    expect(differences.map((one) => one.kind)).toEqual([kind])
    for (const { here, there, fix } of differences) expect([here, there, fix].every((text) => text.length > 0)).toBe(true)
    expect([await room.rows(), await room.reports(), await room.usage(), await room.payouts()]).toEqual(before)
    expect(room.double.calls.slice(calls).filter(({ operation }) => !/^(get|list|find)/.test(operation))).toEqual([])
    await room.run('billing-reconcile')
    expect((await room.alerts()).filter((alert) => alert.startsWith('billing_differs'))).toEqual(['billing_differs open'])
  })

  test('the result of each night is the alert: it has the present number, and is closed without a difference', async () => {
    const room = await aMonth(await fresh())
    const night = async () => {
      await room.run('billing-reconcile')
      const { title, status } = await room.db
        .selectFrom('alerts')
        .select(['title', 'status'])
        .where('kind', '=', 'billing_differs')
        .executeTakeFirstOrThrow()
      return [title, status]
    }
    change(room, room.sub, { applicationFeePercent: 5, cancelAtPeriodEnd: true })
    expect(await night()).toEqual(['2 differences with the payment provider', 'open'])
    change(room, room.sub, { cancelAtPeriodEnd: false })
    expect(await night()).toEqual(['1 difference with the payment provider', 'open'])
    await syncVendor(room.deps, operator, { id: 'ven_1' })
    await room.runJobs()
    expect(await night()).toEqual(['1 difference with the payment provider', 'closed'])
  })

  type Fix = readonly [kind: string, differ: Act, fix: Act]
  const moduleInvoice = (room: Room) => [...room.double.invoices.values()].find(({ subscriptionId }) => subscriptionId === null)
  test.each<Fix>([
    [
      'terms_differ',
      (room) => change(room, room.sub, { applicationFeePercent: 5 }),
      async (room) => {
        await syncVendor(room.deps, operator, { id: 'ven_1' })
        await room.runJobs()
      },
    ],
    [
      'item_price_differs',
      async (room) => {
        const { paymentPriceId } = await room.item()
        Object.assign(room.double.prices.get(paymentPriceId as string) ?? {}, { active: false })
      },
      async (room) => {
        const payments = { ...room.payments, currency: 'eur' }
        await changeItem({ ...room.deps, payments } as never, operator, { id: 'item_1', priceModel: 'per-active-user', priceCents: 150 })
        await room.runJobs()
      },
    ],
    [
      'account_differs',
      (room) => {
        const { getAccount } = room.provider
        Object.assign(room.provider, { getAccount: async (id: string) => (id === room.account.id ? null : getAccount(id)) })
      },
      (room) => syncVendor(room.deps, operator, { id: 'ven_1' }),
    ],
    [
      'usage_not_invoiced',
      (room) => {
        const invoice = [...room.double.invoices.values()].find(({ lines }) => lines.some(({ invoiceItemId }) => invoiceItemId === null))
        if (invoice) invoice.lines = invoice.lines.map((line) => ({ ...line, cents: line.cents + 100 }))
      },
      (room) => {
        const invoice = [...room.double.invoices.values()].find(({ lines }) => lines.some(({ invoiceItemId }) => invoiceItemId === null))
        room.double.refundInvoice(invoice?.id as string, 100)
      },
    ],
    [
      'module_refunded',
      (room) => room.double.refundInvoice(moduleInvoice(room)?.id as string, 1),
      (room) => room.run('billing-developer-payouts'),
    ],
    [
      'transfer_missing',
      (room) => room.double.transfers.clear(),
      async (room) => {
        const [{ id, net_cents: cents } = { id: '', net_cents: 0 }] = await room.payouts()
        const metadata = { svc_payout: id }
        await room.provider.createTransfer({
          key: 'by hand',
          amount: { cents, currency: 'eur' },
          destination: room.account.id,
          description: '',
          metadata,
        })
      },
    ],
  ])('%s is closed by the fix that it names', async (kind, differ, fix) => {
    const room = await aMonth(await fresh())
    await differ(room)
    expect((await reconcilePage(room.deps, { limit: 20 })).differences.map((one) => one.kind)).toEqual([kind])
    await fix(room)
    expect(await reconcilePage(room.deps, { limit: 20 })).toMatchObject({ differences: [], accepted: 0 })
  })

  test('a difference that no fix closes is accepted with a reason, and named again once it changes', async () => {
    const room = await aMonth(await fresh())
    const [transfer] = room.double.transfers.values()
    const reverse = (reversedCents: number) =>
      room.double.transfers.set(transfer?.id as string, { ...(transfer as never as object), reversedCents } as never)
    reverse(100)
    await room.run('billing-reconcile')
    const [found] = (await reconcilePage(room.deps, { limit: 20 })).differences
    if (!found) throw new Error('no difference')
    expect(found.fix).toContain(`tenantry billing accept transfer_differs ${found.id}`)
    const { fix: _, ...accepted } = found
    await acceptDifference(room.deps, operator, { ...accepted, reason: 'agreed with the developer' })
    expect(await reconcilePage(room.deps, { limit: 20 })).toMatchObject({ differences: [], accepted: 1 })
    await room.run('billing-reconcile')
    expect(await room.alerts()).toEqual(['billing_differs closed'])
    const audited = await room.db
      .selectFrom('audit')
      .select(['subject', 'data'])
      .where('action', '=', 'billing.difference-accepted')
      .execute()
    expect(audited).toMatchObject([{ subject: 'dev_1', data: expect.stringContaining('agreed with the developer') }])
    reverse(200)
    expect((await reconcilePage(room.deps, { limit: 20 })).differences).toMatchObject([{ kind: 'transfer_differs' }])
  })

  test('a cancelled item whose subscription continues at a former customer of the tenant is named', async () => {
    const room = await aMonth(await fresh())
    const { id } = await room.provider.createCustomer({ key: 'other', name: 'Acme', email: 'b@acme.example', metadata: {} })
    await room.db.updateTable('tenants').set({ payment_customer_id: id }).where('id', '=', 'ten_acme').execute()
    await room.db.updateTable('marketplace_subscriptions').set({ status: 'cancelled' }).execute()
    const there = `continues and charges the customer ${room.customer.id}`
    const continues = { kind: 'subscription_continues', id: room.sub, there }
    expect((await reconcilePage(room.deps, { limit: 20 })).differences).toMatchObject([continues])
    change(room, room.sub, { cancelAtPeriodEnd: true })
    expect((await reconcilePage(room.deps, { limit: 20 })).differences).toEqual([])
  })

  test('a cancelled item whose subscription continues is named although the tenant has no customer, or one that was deleted', async () => {
    const room = await aMonth(await fresh())
    await room.db.updateTable('marketplace_subscriptions').set({ status: 'cancelled' }).execute()
    const continues = { kind: 'subscription_continues', id: room.sub }
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).where('id', '=', 'ten_acme').execute()
    expect((await reconcilePage(room.deps, { limit: 20 })).differences).toMatchObject([continues])
    await room.db.updateTable('tenants').set({ payment_customer_id: 'cus_deleted' }).where('id', '=', 'ten_acme').execute()
    expect((await reconcilePage(room.deps, { limit: 20 })).differences).toMatchObject([{ kind: 'customer_missing' }, continues])
  })

  test('a cancelled item whose subscription continues is named; without a provider there is nothing to compare', async () => {
    const room = await aMonth(await fresh())
    await room.db.updateTable('marketplace_subscriptions').set({ status: 'cancelled' }).execute()
    expect((await reconcilePage(room.deps, { limit: 20 })).differences).toMatchObject([{ kind: 'subscription_continues', id: room.sub }])
    await expect(reconcilePage({ ...room.deps, provider: noProvider }, { limit: 20, tenant: 'nope' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(reconcilePage({ ...room.deps, provider: noProvider }, { limit: 20 })).rejects.toMatchObject({
      code: 'PAYMENTS_UNAVAILABLE',
    })
    const without = { ...room.deps, provider: noProvider }
    expect(await room.run('billing-reconcile', without)).toBe('no payment provider is configured: nothing to compare')
    const payouts = billingFeature.crons?.(without as never).find(({ key }) => key === 'billing-developer-payouts')
    expect(await payouts?.run({ signal: new AbortController().signal })).toMatch(
      /^queued; no payment provider is configured: nothing is charged or sent to one\. Progress: tenantry jobs list --topic billing\.paid-invoices/,
    )
  })
})

onBothDialects('the customer of a tenant', (fresh) => {
  test('is created once, and each call makes a new link', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    const acme = { slug: 'acme' }
    await expect(createPaymentCustomer(room.deps, operator, acme)).rejects.toMatchObject({ code: 'CONFLICT' })
    const input = { ...acme, billingEmail: 'office@acme.example' }
    await expect(createPaymentCustomer({ ...room.deps, provider: noProvider }, operator, input)).rejects.toMatchObject({
      code: 'PAYMENTS_UNAVAILABLE',
    })
    expect(await showTenantBilling(room.deps, acme)).toMatchObject({ paymentCustomerId: null, billingEmail: null })
    room.double.fault('createCustomer', 'answer lost')
    await expect(createPaymentCustomer(room.deps, operator, input)).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    const first = await createPaymentCustomer(room.deps, operator, input)
    const second = await createPaymentCustomer(room.deps, operator, acme)
    const links = await room.db.selectFrom('audit').select('subject').where('action', '=', 'payment.setup-link').execute()
    expect(links).toEqual([{ subject: 'acme' }, { subject: 'acme' }])
    expect(first).toMatchObject({
      tenant: 'acme',
      billingEmail: 'office@acme.example',
      plan: null,
      setupUrl: expect.stringMatching(/^https:/),
    })
    expect(second.paymentCustomerId).toBe(first.paymentCustomerId)
    expect(second.setupUrl).not.toBe(first.setupUrl)
    expect(room.double.calls.filter(({ operation }) => operation === 'createCustomer').length).toBe(3)
    expect(JSON.stringify(await room.db.selectFrom('audit').selectAll().execute())).not.toMatch(/office@|pay\.example/)
    expect(await showTenantBilling(room.deps, acme)).toMatchObject({ paymentCustomerId: first.paymentCustomerId })
  })

  test('a changed address is sent to the provider once it answers', async () => {
    const room = await aBillingWorld(await fresh())
    const change = (billingEmail: string | null) => room.deps.changeTenant(operator, { slug: 'acme', billingEmail })
    const email = async () => (await room.provider.getCustomer(room.customer.id))?.email
    await change('office@acme.example')
    room.double.fault('getCustomer', 'lost')
    await expect(room.runJobs()).rejects.toThrow('did not answer')
    await change('bills@acme.example')
    await room.runJobs()
    expect([await email(), (await reconcilePage(room.deps, { limit: 20 })).differences]).toEqual(['bills@acme.example', []])
    await room.provider.updateCustomer({ key: 'by hand', id: room.customer.id, email: 'x@acme.example' })
    const { differences } = await reconcilePage(room.deps, { limit: 20 })
    expect(differences).toMatchObject([{ kind: 'billing_address_differs', fix: 'tenantry tenants update acme --billing-email <address>' }])
    expect(JSON.stringify(differences)).not.toMatch(/bills@|x@/)
    await room.clock.advance(1000)
    await change('bills@acme.example')
    await room.runJobs()
    await room.clock.advance(1000)
    await change(null)
    await room.runJobs()
    expect(await email()).toBeNull()
  })

  test('of a deleted tenant pays nothing any more', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await endPayments(room.deps, { id: 'ten_acme' as never })
    await endPayments(room.deps, { id: 'ten_acme' as never })
    await room.clock.advance(90 * 24 * 60 * 60_000)
    expect([room.money()[0], room.double.liveSubscriptions(room.customer.id)]).toEqual([1000, []])
  })

  test('of a deleted tenant that got another customer pays nothing either; other tenants of that customer do', async () => {
    const room = await aBillingWorld(await fresh())
    const { paymentSubscriptionId } = await room.install()
    const own = room.double.subscriptions.get(paymentSubscriptionId as string)
    if (!own) throw new Error('no subscription')
    room.double.subscriptions.set('sub_other', { ...own, id: 'sub_other', metadata: { ...own.metadata, svc_tenant: 'ten_other' } })
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await endPayments(room.deps, { id: 'ten_acme' as never })
    expect(room.double.liveSubscriptions(room.customer.id).map(({ id }) => id)).toEqual(['sub_other'])
  })
})
