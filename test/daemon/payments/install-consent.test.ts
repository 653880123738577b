import { expect, test } from 'vitest'
import { paymentFailure } from '../../../src/core/payments/index.ts'
import { changeItem } from '../../../src/daemon/marketplace/change-item.ts'
import { installItem } from '../../../src/daemon/marketplace/install-item.ts'
import { listTenantItems } from '../../../src/daemon/marketplace/show-marketplace.ts'
import { receiveEvent } from '../../../src/daemon/payments/events.ts'
import { paymentsFeature, paymentsOfMarketplace } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'
import { aPaymentsWorld, dyingAfter } from '../../support/payments/payments-world.ts'
import { readyAccount, signedEvent } from '../../support/payments/provider-double.ts'

type Room = Awaited<ReturnType<typeof aPaymentsWorld>>

const operator = { kind: 'operator', operatorId: 'op_1', name: 'op' } as never
const shop = (room: Room, payments = room.payments) => ({ ...room.deps, payments }) as never
const reprice = (room: Room, priceCents: number, priceModel: 'flat-monthly' | 'per-active-user' = 'flat-monthly') =>
  changeItem(shop(room), operator, { id: 'item_1', priceModel, priceCents } as never)
const later = async (room: Room, ms = 61_000) => {
  await room.clock.advance(ms)
  await room.runJobs()
}
const statuses = async (room: Room) => (await room.rows()).map(({ status }) => status)

onBothDialects('a tenant pays what it was shown', (fresh) => {
  test('an item that costs is bought only by a request that names its price, which the refusal names', async () => {
    const room = await aPaymentsWorld(await fresh())
    await expect(installItem(shop(room), room.actor, { id: 'item_1' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/costs 10\.00 EUR .* names no price.* priceCents: 1000$/),
    })
    expect([room.money(), await room.rows()]).toEqual([[0, 0, 0], []])
    await installItem(shop(room), room.actor, { id: 'item_1', priceCents: 1000 })
    expect(room.money()[0]).toBe(1000)
  })

  test('a price that rises while the request asks the provider is not charged', async () => {
    const room = await aPaymentsWorld(await fresh())
    const provider = {
      ...room.provider,
      getCustomer: async (id: string) => {
        await reprice(room, 9900)
        return room.provider.getCustomer(id)
      },
    }
    const payments = paymentsOfMarketplace({ ...room.deps, provider })
    const installing = installItem(shop(room, payments), room.actor, { id: 'item_1', priceCents: 1000 })
    await expect(installing).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('got another price') })
    await later(room)
    expect([room.money(), await room.rows()]).toEqual([[0, 0, 0], []])
  })

  test('killed at any point before the charge, and repriced: the new price is not charged', async () => {
    let charged = 0
    for (let kill = 1; kill < 30; kill++) {
      const room = await aPaymentsWorld(await fresh())
      const dying = paymentsOfMarketplace({ ...room.deps, clock: dyingAfter(room.clock, kill) })
      await installItem(shop(room, dying), room.actor, { id: 'item_1', priceCents: 1000 }).catch(() => undefined)
      if ((await room.attempts()).length === 0) continue
      await reprice(room, 9900)
      await later(room, 6 * 60_000)
      expect([0, 1000], `killed at ${kill}`).toContain(room.money()[0])
      charged += 1
    }
    expect(charged).toBeGreaterThan(3)
  })

  test('installed again within the paid period: the item shows the former price, which is accepted and continues', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.runJobs()
    await reprice(room, 300)
    await room.runJobs()
    const { items } = await listTenantItems(shop(room), room.actor, { limit: 10 })
    expect(items).toMatchObject([{ priceCents: 1000, installed: false }])
    await expect(installItem(shop(room), room.actor, { id: 'item_1', priceCents: 300 })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('10.00 EUR'),
    })
    await installItem(shop(room), room.actor, { id: 'item_1', priceCents: 1000, priceModel: 'flat-monthly' }).catch(() => undefined)
    await later(room, 32 * 86_400_000)
    expect(room.money()[0]).toBe(2000)
  })

  test('a subscription that ended early at the provider leaves no former price', async () => {
    const room = await aPaymentsWorld(await fresh())
    const { paymentSubscriptionId: id } = await room.install()
    await room.uninstall()
    await room.runJobs()
    await reprice(room, 300)
    await room.provider.cancelSubscription({ key: 'by hand', id: id as string })
    for (const event of room.double.events()) {
      const { body, signature } = signedEvent(event, {
        now: room.clock.now(),
        endpoint: event.type === 'account.updated' ? 'connect' : 'platform',
      })
      await receiveEvent(room.deps, { raw: { readBody: async () => body }, signature })
    }
    await room.runJobs()
    const { items } = await listTenantItems(shop(room), room.actor, { limit: 10 })
    expect(items).toMatchObject([{ priceCents: 300, installed: false }])
  })

  test('a former price that the provider does not have any more is shown once, and then the real one', async () => {
    const room = await aPaymentsWorld(await fresh())
    const { paymentSubscriptionId } = await room.install()
    await room.uninstall()
    await room.runJobs()
    // Its event has not come.
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    const other = await room.provider.createCustomer({ key: 'c2', name: 'Acme', email: 'b@acme.example', metadata: {} })
    await room.db.updateTable('tenants').set({ payment_customer_id: other.id }).execute()
    await reprice(room, 300)
    await expect(installItem(shop(room), room.actor, { id: 'item_1', priceCents: 1000 })).rejects.toMatchObject({ code: 'CONFLICT' })
    const { items } = await listTenantItems(shop(room), room.actor, { limit: 10 })
    expect(items).toMatchObject([{ priceCents: 300 }])
    await installItem(shop(room), room.actor, { id: 'item_1', priceCents: 300 })
    expect(room.double.paidBy(other.id)).toBe(300)
  })

  test('a subscription that was given another price at the provider continues at it once that was shown', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.runJobs()
    await room.db.updateTable('marketplace_subscriptions').set({ price_cents: 700 }).execute()
    await expect(installItem(shop(room), room.actor, { id: 'item_1', priceCents: 700 })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('former price'),
    })
    const { items } = await listTenantItems(shop(room), room.actor, { limit: 10 })
    expect(items).toMatchObject([{ priceCents: 1000 }])
    await installItem(shop(room), room.actor, { id: 'item_1', priceCents: 1000 })
    expect(room.money()[0]).toBe(1000)
  })

  test('a paid period that outlives a free installation is shown after one refusal, and continues', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.runJobs()
    // Installed while it was free, and uninstalled again.
    const free = { price_model: null, price_cents: null, currency: null, payment_price_id: null }
    const noPayment = { payment_subscription_id: null, payment_subscription_item_id: null, paid_until: null }
    await room.db
      .updateTable('marketplace_subscriptions')
      .set({ ...free, ...noPayment })
      .execute()
    await reprice(room, 300)
    await room.runJobs()
    const shown = async () => (await listTenantItems(shop(room), room.actor, { limit: 10 })).items[0]?.priceCents
    expect(await shown()).toBe(300)
    const installing = installItem(shop(room), room.actor, { id: 'item_1', priceCents: 300 })
    await expect(installing).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('former price') })
    expect(await shown()).toBe(1000)
    await installItem(shop(room), room.actor, { id: 'item_1', priceCents: 1000 })
    expect([await statuses(room), room.money()[0], room.double.liveSubscriptions(room.customer.id).length]).toEqual([['active'], 1000, 1])
  })

  test('the same cents for another model are another price', async () => {
    const room = await aPaymentsWorld(await fresh())
    await reprice(room, 1000, 'per-active-user')
    const accepted = { id: 'item_1', priceCents: 1000, priceModel: 'flat-monthly' } as const
    await expect(installItem(shop(room), room.actor, accepted)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await room.attempts()).toEqual([])
  })

  test('a withdrawn item is not sold after a try that reached nothing', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.double.fault('listSubscriptions', 'lost')
    await room.install().catch(() => undefined)
    await changeItem(shop(room), operator, { id: 'item_1', status: 'archived' } as never)
    await later(room)
    expect([room.money(), await room.rows()]).toEqual([[0, 0, 0], []])
  })

  test('a tenant that is being deleted gets what it was charged back', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.faults.install = 1
    await room.install().catch(() => undefined)
    expect(room.money()[0]).toBe(1000)
    await room.db.updateTable('tenants').set({ status: 'deleting' }).execute()
    await later(room)
    expect([room.money()[0], await statuses(room), room.double.liveSubscriptions(room.customer.id)]).toEqual([0, [], []])
  })

  test('a vendor that changed while an installation was open is paid from the next period on', async () => {
    const room = await aBillingWorld(await fresh())
    const account = await room.provider.createAccount({ key: 'b', name: 'B', email: 'b@b.example', country: 'DE', metadata: {} })
    room.double.setAccount(account.id, readyAccount)
    room.faults.install = 1
    await room.install().catch(() => undefined)
    await room.db.updateTable('marketplace_vendors').set({ payment_account_id: account.id }).execute()
    await later(room)
    const [live] = room.double.liveSubscriptions(room.customer.id)
    expect([await statuses(room), live?.destination]).toEqual([['active'], account.id])
  })

  test('what the provider refuses to pay back is an alert until it is paid back, and the journal stays short', async () => {
    const room = await aBillingWorld(await fresh())
    room.faults.install = 100_000
    await room.install().catch(() => undefined)
    let isRefused = true
    const provider = {
      ...room.provider,
      refundInvoice: async (input: never) => {
        if (isRefused) throw paymentFailure('invalid', 'The payment provider reports: insufficient funds')
        return room.provider.refundInvoice(input)
      },
    }
    const deps = { ...room.deps, provider }
    const job = paymentsFeature.jobs?.(deps as never)['payments.install']
    const attemptId = (await room.attempts())[0]?.id as string
    await room.clock.advance(25 * 3_600_000)
    const journals = new Set<number>()
    for (let minute = 0; minute < 5; minute++) {
      await room.clock.advance(61_000)
      await job?.({ attemptId }, { last: false } as never)
      if (minute > 0) journals.add((await room.attempts())[0]?.journal.length as number)
    }
    const stuck = () =>
      room.db.selectFrom('alerts').select(['status', 'body']).where('key', '=', `installation_failed:stuck:${attemptId}`).execute()
    expect(journals.size).toBe(1)
    expect(await stuck()).toMatchObject([{ status: 'open', body: expect.stringContaining('insufficient funds') }])
    await expect(paymentsOfMarketplace(deps).installPaid(room.actor, await room.item())).rejects.toMatchObject({
      message: expect.stringContaining('is being paid back'),
    })
    isRefused = false
    await room.clock.advance(61_000)
    await job?.({ attemptId }, { last: false } as never)
    expect([room.money()[0], await stuck()]).toMatchObject([0, [{ status: 'closed' }]])
  })
})

onBothDialects('the module of a paid app', (fresh) => {
  /** The price of the module rises from 5.00 to 9.00 EUR while the installation waits. */
  const raised = async (db: Parameters<typeof aPaymentsWorld>[0], wait: (room: Room) => void) => {
    const room = await aPaymentsWorld(db)
    room.faults.modulePriceCents = 500
    wait(room)
    await room.payments.installPaid(room.actor, await room.item(), { modulePriceCents: 500 }).catch(() => undefined)
    const charged = room.money()[0]
    room.faults.modulePriceCents = 900
    await later(room)
    await later(room)
    return { ...room, charged }
  }
  const reasonOf = async (room: Room) => JSON.stringify((await room.attempts()).map(({ outcome, journal }) => [outcome, journal]))

  test('whose price rises before the charge is not installed, and nothing is charged', async () => {
    const room = await raised(await fresh(), ({ double }) => double.fault('listSubscriptions', 'lost'))
    expect([room.charged, room.money(), await room.rows(), room.double.subscriptions.size]).toEqual([0, [0, 0, 0], [], 0])
    expect(await reasonOf(room)).toContain('The module of Visits got another price before it was installed.')
  })

  test('whose price rises after the charge is not installed, and the item is refunded', async () => {
    const room = await raised(await fresh(), ({ faults }) => {
      faults.install = 1
    })
    expect([room.charged, room.money(), await room.rows()]).toEqual([1000, [0, 0, 0], []])
    expect(room.double.liveSubscriptions(room.customer.id)).toEqual([])
    expect(await reasonOf(room)).toContain('The module of Visits got another price before it was installed.')
    const { body } = await room.db.selectFrom('alerts').select('body').executeTakeFirstOrThrow()
    expect(body).toContain('could not be finished (attempt pay_')
    expect(body).toContain('): The module of Visits got another price before it was installed. The subscription was cancelled')
  })

  test('whose price is not what the request accepted is refused before anything is begun', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.faults.modulePriceCents = 900
    const installing = room.payments.installPaid(room.actor, await room.item(), { modulePriceCents: 500 })
    await expect(installing).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('got another price') })
    expect([room.money(), await room.attempts()]).toEqual([[0, 0, 0], []])
  })
})
