import { expect, test } from 'vitest'
import { isoNow } from '../../../../src/core/kit/index.ts'
import type { Db } from '../../../../src/daemon/db/index.ts'
import { reconcilePage } from '../../../../src/daemon/payments/billing/reconcile.ts'
import { noProvider, paymentsFeature } from '../../../../src/daemon/payments/index.ts'
import { syncVendor } from '../../../../src/daemon/payments/vendors.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'

const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const
const perMonth = { priceModel: 'flat-monthly', priceCents: 1000 } as const
type Options = Parameters<typeof aBillingWorld>[1]
type Room = Awaited<ReturnType<typeof aMonth>>
type Act = (room: Room) => unknown

/** A month of an item and of a module, in which three users were active: everything is alike on both sides. */
async function aMonth(db: Db, options: Options) {
  const room = await aBillingWorld(db, options)
  await room.developer()
  await room.install()
  await room.module('attendance', 500)
  await room.active(3)
  await room.until('2026-04-06T00:00:00.000Z')
  return { ...room, sub: (await room.rows())[0]?.payment_subscription_id as string }
}

const named = async ({ deps }: Pick<Room, 'deps'>) => (await reconcilePage(deps, { limit: 20 })).differences
const change = ({ double, sub }: Room, patch: object, id = sub) => void Object.assign(double.subscriptions.get(id) ?? {}, patch)
const copy = ({ double, sub }: Room, id: string, patch: object = {}) =>
  double.subscriptions.set(id, { ...(double.subscriptions.get(sub) as never as object), id, ...patch } as never)
const payBy = ({ db }: Room, customerId: string | null) => db.updateTable('tenants').set({ payment_customer_id: customerId }).execute()
const setRow = ({ db }: Room, patch: object) => db.updateTable('marketplace_subscriptions').set(patch).execute()
const anotherCustomer = async (room: Room) =>
  payBy(room, (await room.provider.createCustomer({ key: 'other', name: 'N', email: 'n@n.example', metadata: {} })).id)
const happens = async (room: Room, type: string, objectId = room.sub) => {
  await room.send({ id: `evt_${type}`, type, objectKind: 'subscription', objectId, createdAt: isoNow(room.clock) })
  await room.runJobs()
}
const setPlan = async (room: Room, status: string) => {
  copy(room, 'sub_p', { metadata: { svc_kind: 'plan', svc_tenant: 'ten_acme', svc_plan: 'pro' } })
  const times = { current_period_end: isoNow(room.clock), updated_at: isoNow(room.clock) }
  await room.db
    .insertInto('tenant_billing')
    .values({ tenant_id: 'ten_acme', subscription_id: 'sub_p', plan: 'pro', status, ...times })
    .execute()
}
const usageInvoice = ({ double, sub }: Room) => {
  const found = [...double.invoices.values()].findLast(({ subscriptionId }) => subscriptionId === sub)
  if (!found) throw new Error('no invoice')
  return found
}
const paidByPlatform = { destination: null, applicationFeePercent: null }

type Case = Readonly<{
  title: string
  of?: Options
  differ: Act
  /** Of one difference, whose subject is the tenant. */
  kind: string
  id?: (room: Room) => string
  here?: string
  there?: string
  fix: string
  close?: Act
}>

const cases: readonly Case[] = [
  {
    title: 'a customer that was deleted',
    differ: (room) => room.double.deleteCustomer(room.customer.id),
    ...{ kind: 'customer_missing', id: (room) => room.customer.id, there: 'deleted or unknown' },
    fix: 'tenantry tenants billing acme --create-customer',
  },
  {
    title: 'a paid item of a tenant without a customer',
    differ: (room) => payBy(room, null),
    ...{ kind: 'customer_missing', there: 'unknown', fix: 'tenantry tenants update acme --payment-customer <id>' },
    close: (room) => payBy(room, room.customer.id),
  },
  {
    title: 'an installed item whose subscription ended',
    differ: (room) => change(room, { status: 'canceled' }),
    ...{ kind: 'subscription_missing', id: ({ sub }) => sub, here: 'item_1 is installed', there: 'canceled', fix: 'then replay the event' },
    close: (room) => happens(room, 'customer.subscription.deleted'),
  },
  {
    title: 'an installed item whose subscription belongs to a former customer',
    differ: anotherCustomer,
    ...{ kind: 'subscription_missing', id: ({ sub }) => sub, there: 'active, belongs to customer cus_' },
    fix: 'tenantry tenants update acme --payment-customer cus_',
    close: (room) => payBy(room, room.customer.id),
  },
  {
    title: 'a plan whose subscription ended',
    differ: async (room) => {
      await setPlan(room, 'active')
      change(room, { status: 'canceled' }, 'sub_p')
    },
    ...{ kind: 'subscription_missing', id: () => 'sub_p', here: 'active', there: 'canceled', fix: 'replay an event' },
    close: (room) => happens(room, 'customer.subscription.deleted', 'sub_p'),
  },
  {
    title: 'a subscription of an item that is not installed with it',
    differ: (room) => copy(room, 'sub_2'),
    ...{ kind: 'subscription_unknown', id: () => 'sub_2', here: 'no item is installed', there: 'active, item item_1', fix: 'cancel it' },
    close: (room) => room.provider.cancelSubscription({ key: 'by hand', id: 'sub_2' }),
  },
  {
    title: 'a subscription that does not end although its item was installed again once it was free',
    differ: async (room) => {
      await room.uninstall()
      await room.runJobs()
      const free = { price_model: null, price_cents: null, currency: null, payment_price_id: null, paid_until: null, cancelled_at: null }
      await setRow(room, { ...free, status: 'active', payment_subscription_id: null, payment_subscription_item_id: null })
      expect(await named(room)).toEqual([])
      change(room, { cancelAtPeriodEnd: false })
    },
    ...{ kind: 'subscription_unknown', id: ({ sub }) => sub, fix: 'cancel it in the Dashboard of the provider, and refund' },
    close: (room) => change(room, { cancelAtPeriodEnd: true }),
  },
  {
    title: 'an uninstalled item whose subscription continues',
    differ: (room) => setRow(room, { status: 'cancelled' }),
    ...{ kind: 'subscription_unknown', id: ({ sub }) => sub, here: 'cancelled', there: 'continues and charges the customer cus_' },
    fix: 'tenantry jobs list --topic payments.cancellation',
    close: (room) => change(room, { cancelAtPeriodEnd: true }),
  },
  {
    title: 'an uninstalled item whose subscription continues at a former customer',
    differ: async (room) => {
      await setRow(room, { status: 'cancelled' })
      await anotherCustomer(room)
    },
    ...{ kind: 'subscription_unknown', id: ({ sub }) => sub, there: 'continues and charges the customer cus_', fix: 'cancel it' },
    close: (room) => change(room, { cancelAtPeriodEnd: true }),
  },
  {
    title: 'an uninstalled item whose subscription continues, of a tenant without a customer',
    differ: async (room) => {
      await setRow(room, { status: 'cancelled' })
      await payBy(room, null)
    },
    ...{ kind: 'subscription_unknown', id: ({ sub }) => sub, there: 'continues and charges the customer cus_', fix: 'cancel it' },
    close: (room) => change(room, { cancelAtPeriodEnd: true }),
  },
  {
    title: 'a subscription of a plan whose event never came',
    differ: (room) => copy(room, 'sub_p', { metadata: { svc_kind: 'plan', svc_tenant: 'ten_acme', svc_plan: 'pro' } }),
    ...{ kind: 'subscription_unknown', id: () => 'sub_p', here: 'the tenant has no subscription of a plan', there: 'active' },
    fix: 'then replay the newest event of this subscription',
    close: (room) => happens(room, 'customer.subscription.created', 'sub_p'),
  },
  {
    title: 'a second subscription of a plan',
    differ: async (room) => {
      await setPlan(room, 'active')
      copy(room, 'sub_q', { metadata: { svc_kind: 'plan', svc_tenant: 'ten_acme', svc_plan: 'pro' } })
    },
    ...{ kind: 'subscription_unknown', id: () => 'sub_q', here: 'the subscription of the plan is sub_p', fix: 'cancel one of them' },
    close: (room) => room.provider.cancelSubscription({ key: 'by hand', id: 'sub_q' }),
  },
  {
    title: 'another price',
    differ: (room) => change(room, { priceId: 'price_other' }),
    ...{ kind: 'price_differs', id: ({ sub }) => sub, here: '1.50 EUR', there: 'price_other', fix: 'set the price back' },
    close: async (room) => change(room, { priceId: (await room.item()).paymentPriceId }),
  },
  {
    title: 'another fee',
    differ: (room) => change(room, { applicationFeePercent: 5 }),
    ...{ kind: 'price_differs', id: ({ sub }) => sub, here: 'fee 30 %', there: 'fee 5 %', fix: 'tenantry marketplace vendors sync ven_1' },
    close: async (room) => {
      await syncVendor(room.deps, operator, { id: 'ven_1' })
      await room.runJobs()
    },
  },
  {
    title: 'a vendor that a subscription with tax does not pay',
    differ: (room) => change(room, { isTaxed: true, ...paidByPlatform }),
    ...{ kind: 'price_differs', id: ({ sub }) => sub, here: 'fee 30 %', there: 'paid to the platform' },
    fix: 'the tenant uninstalls the item and installs it again',
  },
  {
    title: 'a destination of an item without vendor',
    of: { ...perUser, vendor: false },
    differ: (room) => change(room, { destination: room.account.id }),
    ...{ kind: 'price_differs', id: ({ sub }) => sub, here: 'paid to the platform', there: 'fee 0 %', fix: 'remove the destination' },
    close: (room) => change(room, paidByPlatform),
  },
  {
    title: 'a monthly price that is charged twice',
    of: perMonth,
    differ: async (room) => {
      change(room, { quantity: 2 })
      await room.until('2026-04-12T00:00:00.000Z')
      change(room, { quantity: 1 })
    },
    ...{ kind: 'price_differs', id: (room) => usageInvoice(room).id, here: 'item_1 costs 10.00 EUR a month', there: 'charges 20.00 EUR' },
    fix: 'refund the difference',
    close: (room) => room.double.refundInvoice(usageInvoice(room).id, 1000),
  },
  {
    title: 'more users than were reported',
    differ: (room) => {
      const invoice = usageInvoice(room)
      invoice.lines = invoice.lines.map((line) => ({ ...line, cents: line.cents + 100 }))
    },
    ...{ kind: 'price_differs', id: (room) => usageInvoice(room).id, here: '3 users of 2026-03: 4.50 EUR', there: 'charges 5.50 EUR' },
    fix: 'refund the difference',
    close: (room) => room.double.refundInvoice(usageInvoice(room).id, 100),
  },
  {
    title: 'users that were reported and are on no invoice, for 40 days',
    differ: async (room) => {
      usageInvoice(room).lines = []
      await room.clock.advance(39 * 86_400_000)
    },
    ...{ kind: 'price_differs', here: '3 users of 2026-03: 4.50 EUR', there: 'charges 0.00 EUR', fix: 'invoice the rest' },
    close: (room) => room.clock.advance(86_400_000),
  },
  ...[true, false].map(
    (isDelivered): Case => ({
      title: `users whose subscription was cancelled by hand, ${isDelivered ? 'until the event of that comes' : 'for 40 days'}`,
      differ: async (room) => {
        await room.active(2)
        await room.uninstall()
        await room.runJobs()
        await room.provider.cancelSubscription({ key: 'by hand', id: room.sub })
        await room.clock.advance(2 * 86_400_000)
      },
      ...{ kind: 'price_differs', id: ({ sub }) => sub, here: '2 users of 2026-04: 3.00 EUR', there: 'without an invoice of them' },
      fix: 'then replay the event of sub_',
      close: async (room) => {
        if (!isDelivered) return room.clock.advance(39 * 86_400_000)
        await room.deliver()
        await room.clock.advance(3 * 3_600_000)
        await room.runJobs()
        expect(room.money()[0]).toBe(450 + 500 + 300)
      },
    }),
  ),
  {
    title: 'another status',
    differ: (room) => change(room, { status: 'past_due' }),
    ...{ kind: 'payment_status_differs', id: ({ sub }) => sub, here: 'ok', there: 'past_due', fix: 'replay an event of the subscription' },
    close: (room) => happens(room, 'customer.subscription.updated'),
  },
  {
    title: 'another status of a plan',
    differ: (room) => setPlan(room, 'past_due'),
    ...{ kind: 'payment_status_differs', id: () => 'sub_p', here: 'past_due', there: 'active', fix: 'replay an event of the subscription' },
    close: (room) => happens(room, 'customer.subscription.updated', 'sub_p'),
  },
  ...[perMonth, perUser].map(
    (of): Case => ({
      title: `a draft of an unpaid subscription, which nobody is charged for: ${of.priceModel}`,
      of,
      differ: async (room) => {
        await room.active(4)
        change(room, { status: 'unpaid' })
        await setRow(room, { payment_status: 'unpaid' })
        await room.until('2026-05-10T00:00:00.000Z')
      },
      ...{ kind: 'payment_status_differs', id: (room) => usageInvoice(room).id, there: 'draft of', fix: 'finalise it' },
      close: (room) => room.provider.finishInvoice({ key: 'by hand', invoiceId: usageInvoice(room).id }),
    }),
  ),
]

onBothDialects('the comparison with the provider', (fresh) => {
  test.each(cases)(
    'names $title ($kind), and changes nothing',
    async ({ of = perUser, differ, kind, id, here = '', there = '', fix, close }) => {
      const room = await aMonth(await fresh(), of)
      expect(await named(room)).toEqual([])
      await differ(room)
      const before = [await room.rows(), await room.reports()]
      const calls = room.double.calls.length
      const [found, ...others] = await named(room)
      const texts = { here: expect.stringContaining(here), there: expect.stringContaining(there), fix: expect.stringContaining(fix) }
      expect([found, others]).toMatchObject([{ kind, subject: 'acme', id: id?.(room) ?? expect.any(String), ...texts }, []])
      expect([await room.rows(), await room.reports()]).toEqual(before)
      expect(room.double.calls.slice(calls).filter(({ operation }) => !/^(get|list)/.test(operation))).toEqual([])
      if (!close) return
      await close(room)
      expect(await named(room)).toEqual([])
    },
  )

  test('names a subscription that continues beside a customer that was deleted', async () => {
    const room = await aMonth(await fresh(), perUser)
    await setRow(room, { status: 'cancelled' })
    await payBy(room, 'cus_deleted')
    expect((await named(room)).map(({ kind }) => kind)).toEqual(['customer_missing', 'subscription_unknown'])
  })

  test('does not name a draft that may still be finalised by the provider', async () => {
    const room = await aMonth(await fresh(), perMonth)
    await room.clock.advance(Date.parse('2026-04-10T10:30:00.000Z') - room.clock.now().getTime())
    expect(room.double.events().length).toBeGreaterThan(0)
    expect([usageInvoice(room).status, await named(room)]).toEqual(['draft', []])
  })

  test('names nothing about late users, which the next invoice charges', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(4)
    await room.until('2026-04-06T00:00:00.000Z', (at) => at < '2026-04-01T00:00:00.000Z' || at >= '2026-04-06T00:00:00.000Z')
    expect(await named(room)).toEqual([])
    await room.until('2026-05-10T00:00:00.000Z')
    expect([room.money()[0], await named(room)]).toEqual([600, []])
  })

  test('names nothing about months with tax, a refunded month or an uninstalled item', async () => {
    const room = await aMonth(await fresh(), { ...perMonth, vendor: false, automaticTax: true })
    await room.until('2026-04-12T00:00:00.000Z')
    room.double.refundInvoice([...room.double.invoices.keys()][0] as string)
    await room.uninstall()
    await room.runJobs()
    expect(await named(room)).toEqual([])
    await room.until('2026-06-12T00:00:00.000Z')
    expect(await named(room)).toEqual([])
  })

  test('of each night is the alert: it has the present number, and is closed without a difference', async () => {
    const room = await aMonth(await fresh(), perUser)
    const night = async () => {
      await room.run('billing-reconcile')
      const of = room.db.selectFrom('alerts').select(['title', 'status']).where('kind', '=', 'billing_differs')
      return Object.values(await of.executeTakeFirstOrThrow())
    }
    change(room, { applicationFeePercent: 5, status: 'past_due' })
    expect(await night()).toEqual(['2 differences with the payment provider', 'open'])
    change(room, { status: 'active' })
    expect(await night()).toEqual(['1 difference with the payment provider', 'open'])
    change(room, { applicationFeePercent: 30 })
    expect(await night()).toEqual(['1 difference with the payment provider', 'closed'])
  })

  test('needs a provider', async () => {
    const room = await aMonth(await fresh(), perUser)
    const without = { ...room.deps, provider: noProvider }
    await expect(reconcilePage(without, { limit: 20, tenant: 'nope' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(reconcilePage(without, { limit: 20 })).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    expect(await room.run('billing-reconcile', without)).toBe('no payment provider is configured: nothing to compare')
    const payouts = paymentsFeature.crons?.(without as never).find(({ key }) => key === 'billing-developer-payouts')
    expect(await payouts?.run({ signal: new AbortController().signal })).toMatch(
      /^queued; no payment provider is configured: nothing is charged or sent to one\. Progress: tenantry jobs list --topic billing\.paid-invoices/,
    )
  })
})
