import { expect, test } from 'vitest'
import { isoNow } from '../../../../src/core/kit/index.ts'
import { reconcilePage } from '../../../../src/daemon/payments/billing/reconcile.ts'
import { paymentsFeature } from '../../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** A plan of 99.00 a month, as an operator creates it in the Dashboard. */
async function subscribe(room: Room, plan: string, key = '1'): Promise<string> {
  const { provider, customer } = room
  await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
  const product = await provider.createProduct({ key: `product ${key}`, name: 'Plan', metadata: {} })
  const unit = { cents: 9900, currency: 'eur' }
  const price = await provider.createPrice({
    key: `price ${key}`,
    productId: product.id,
    unit,
    meterId: null,
    lookupKey: `plan ${key}`,
    metadata: {},
  })
  const metadata = { svc_kind: 'plan', svc_tenant: 'ten_acme', svc_plan: plan }
  const created = await provider.createSubscription({
    ...{ key, customerId: customer.id, priceId: price.id, metered: false, payout: null, anchor: null, description: 'Plan', metadata },
  })
  await room.deliver()
  return created.id
}

const planDifferences = async (room: Room) => (await reconcilePage(room.deps, { limit: 10 })).differences

/** The provider ends its tries. */
async function leaveUnpaid(room: Room, objectId: string): Promise<void> {
  Object.assign(room.double.subscriptions.get(objectId) ?? {}, { status: 'unpaid' })
  await room.send({
    id: 'evt_x',
    type: 'customer.subscription.updated',
    objectKind: 'subscription',
    objectId,
    createdAt: isoNow(room.clock),
  })
  await room.runJobs()
}

const titles = async (room: Room) => room.db.selectFrom('alerts').select(['title', 'status']).orderBy('id').execute()
const tenant = (room: Room) => room.db.selectFrom('tenants').select(['plan', 'status']).executeTakeFirstOrThrow()

onBothDialects('the payment of a plan', (fresh) => {
  test('that fails raises an alert and mails the tenant; a payment closes the alert', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false })
    await subscribe(room, 'pro')
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    expect(room.money()).toEqual([9900, 0, 9900])
    expect(await titles(room)).toEqual([{ title: 'A payment of acme for the plan pro failed', status: 'open' }])
    const sent = { to: 'office@acme.example', subject: 'The payment for the plan pro failed' }
    expect(room.mails).toMatchObject([{ ...sent, text: expect.stringContaining('Your plan stays until its subscription ends.') }])
    expect(await tenant(room)).toEqual({ plan: 'pro', status: 'active' })
    const open = [...room.double.invoices.values()].find(({ status }) => status === 'open')
    room.double.payInvoice(open?.id as string)
    await room.deliver()
    expect(room.money()).toEqual([19_800, 0, 19_800])
    expect((await titles(room)).map(({ status }) => status)).toEqual(['closed'])
    expect(room.mails).toHaveLength(1)
  })

  test('that ends with both of two subscriptions at once leaves none in force', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false })
    const [one, two] = [await subscribe(room, 'light', '1'), await subscribe(room, 'light', '2')]
    const cancel = (id: string) => room.provider.cancelSubscription({ key: `cancel ${id}`, id })
    await cancel(one)
    const event = { type: 'customer.subscription.deleted', objectKind: 'subscription', createdAt: isoNow(room.clock) }
    await room.send({ ...event, id: 'evt_one', objectId: one })
    let isEnded = false
    const listSubscriptions: typeof room.provider.listSubscriptions = async (customer) => {
      const found = await room.provider.listSubscriptions(customer)
      if (!isEnded) {
        isEnded = true
        await cancel(two)
        await room.send({ ...event, id: 'evt_two', objectId: two })
        const job = await room.db.selectFrom('jobs').selectAll().where('payload', 'like', '%evt_two%').executeTakeFirstOrThrow()
        await room.db.deleteFrom('jobs').where('id', '=', job.id).execute()
        await room.jobs['payments.event']?.(JSON.parse(job.payload), { last: false })
      }
      return found
    }
    const slow = { ...room.deps, provider: { ...room.provider, listSubscriptions } }
    const job = await room.db.selectFrom('jobs').selectAll().where('payload', 'like', '%evt_one%').executeTakeFirstOrThrow()
    await room.db.deleteFrom('jobs').where('id', '=', job.id).execute()
    await paymentsFeature.jobs?.(slow as never)['payments.event']?.(JSON.parse(job.payload), { last: false })
    await room.clock.advance(60_000)
    await room.runJobs()
    const plan = await room.db.selectFrom('tenant_billing').select('status').executeTakeFirstOrThrow()
    expect([isEnded, plan.status, (await tenant(room)).status]).toEqual([true, 'canceled', 'suspended'])
  })

  test('that is not tried again is reported a second time, and ends with the subscription', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false })
    const id = await subscribe(room, 'pro')
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    await leaveUnpaid(room, id)
    expect(room.mails.map(({ text }) => /not tried again/.test(text))).toEqual([false, true])
    await room.provider.cancelSubscription({ key: 'dunning', id })
    await room.deliver()
    expect(await room.alerts()).toEqual(['payment_failed closed', 'plan_ended open'])
    expect([await tenant(room), room.money()]).toEqual([{ plan: 'pro', status: 'active' }, [9900, 0, 9900]])
  })

  test('closes its alert when another subscription takes over', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false })
    const id = await subscribe(room, 'pro')
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    await room.provider.cancelSubscription({ key: 'by hand', id })
    room.double.refuseCard(room.customer.id, false)
    await subscribe(room, 'dedicated', '2')
    expect((await room.alerts()).filter((one) => one.includes('payment_failed'))).toEqual(['payment_failed closed'])
    expect([await tenant(room), room.money()]).toEqual([{ plan: 'dedicated', status: 'active' }, [19_800, 0, 19_800]])
  })

  test('by invoice applies the plan before it is paid', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false, collection: 'invoice' })
    await subscribe(room, 'dedicated')
    expect([await tenant(room), room.money()]).toEqual([{ plan: 'dedicated', status: 'active' }, [0, 0, 0]])
  })

  test('for a name in another case applies the plan', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false })
    await subscribe(room, 'Pro')
    expect([await tenant(room), room.money()]).toEqual([{ plan: 'pro', status: 'active' }, [9900, 0, 9900]])
    expect(await planDifferences(room)).toEqual([])
  })

  test('for a name that is no plan is a difference, and no plan is taken from the tenant', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false })
    const id = await subscribe(room, 'premium')
    expect([await tenant(room), room.money()]).toEqual([{ plan: 'light', status: 'active' }, [9900, 0, 9900]])
    expect(await planDifferences(room)).toMatchObject([
      { kind: 'subscription_unknown', subject: 'acme', id, here: 'plan light', there: 'active, svc_plan=premium is no plan' },
    ])
  })
})
