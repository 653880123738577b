import { expect, test } from 'vitest'
import { reconcilePage } from '../../../src/daemon/billing/reconcile.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld, aUsedItem, perUser } from '../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

const differences = async (room: Room) => (await reconcilePage(room.deps, { limit: 20 })).differences
const change = (room: Room, patch: object) => {
  for (const sub of room.double.subscriptions.values()) Object.assign(sub, patch)
}

onBothDialects('the comparison of invoices of subscriptions', (fresh) => {
  test.each([
    ['a price per month', {}, 1000],
    ['a price per user', perUser, 600],
  ])('names a draft of an unpaid subscription, which nobody is charged for, until it is finalised: %s', async (_, price, cents) => {
    const room = await aBillingWorld(await fresh(), price)
    await room.install()
    await room.until('2026-04-09T00:00:00.000Z')
    const before = room.money()[0] as number
    await room.active(4)
    change(room, { status: 'unpaid' })
    await room.db.updateTable('marketplace_subscriptions').set({ payment_status: 'unpaid' }).execute()
    await room.until('2026-05-10T00:00:00.000Z')
    const [draft] = [...room.double.invoices.values()].filter(({ status }) => status === 'draft')
    expect([room.money()[0], await differences(room)]).toMatchObject([
      before,
      [{ kind: 'invoice_not_final', id: draft?.id, there: expect.stringContaining(`since ${draft?.createdAt}`) }],
    ])
    await room.provider.finishInvoice({ key: 'by hand', invoiceId: draft?.id as string })
    expect([room.money()[0], await differences(room)]).toEqual([before + cents, []])
  })

  test('does not name a draft that may still be finalised by the provider', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.clock.advance(Date.parse('2026-04-10T10:30:00.000Z') - room.clock.now().getTime())
    expect(room.double.events().length).toBeGreaterThan(0)
    expect([...room.double.invoices.values()].map(({ status }) => status)).toEqual(['paid', 'draft'])
    expect(await differences(room)).toEqual([])
  })

  test('names a monthly price that is charged twice, until the difference is refunded', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    change(room, { quantity: 2 })
    await room.until('2026-04-12T00:00:00.000Z')
    const twice = [...room.double.invoices.values()].find(({ total }) => total.cents === 2000)
    expect(await differences(room)).toMatchObject([
      { kind: 'price_differs', id: twice?.id, here: 'item_1 costs 10.00 EUR a month', there: expect.stringContaining('charges 20.00 EUR') },
    ])
    change(room, { quantity: 1 })
    room.double.refundInvoice(twice?.id as string, 1000)
    await room.until('2026-05-12T00:00:00.000Z')
    expect([room.money()[0], await differences(room)]).toEqual([3000, []])
  })

  test('names nothing about months with tax, a refunded month or an uninstalled item', async () => {
    const room = await aBillingWorld(await fresh(), { vendor: false, automaticTax: true })
    await room.install()
    await room.until('2026-04-12T00:00:00.000Z')
    const [march] = room.double.invoices.keys()
    room.double.refundInvoice(march as string)
    await room.uninstall()
    await room.runJobs()
    await room.until('2026-06-12T00:00:00.000Z')
    // The month of April, with 19 % tax.
    expect([room.money()[0], await differences(room)]).toEqual([1190, []])
  })

  test('names users whose subscription was cancelled by hand, while the event of that is missing', async () => {
    const room = await aUsedItem(await fresh())
    await room.deliver()
    const [live] = room.double.liveSubscriptions(room.customer.id)
    await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
    await room.clock.advance(2 * 86_400_000)
    expect([room.money()[0], await differences(room)]).toMatchObject([
      0,
      [{ kind: 'usage_not_invoiced', id: live?.id, here: '3 users of 2026-03: 4.50 EUR', fix: expect.stringContaining('replay') }],
    ])
    await room.deliver()
    await room.clock.advance(3 * 3_600_000)
    await room.runJobs()
    expect([room.money()[0], await differences(room)]).toEqual([450, []])
    await room.until('2026-06-12T00:00:00.000Z')
    expect([room.money()[0], await differences(room)]).toEqual([450, []])
  })

  test('names late users whose item was deleted, which the end of their subscription charges', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(4)
    await room.until('2026-04-06T00:00:00.000Z', (at) => at < '2026-04-01T00:00:00.000Z' || at >= '2026-04-06T00:00:00.000Z')
    expect(await differences(room)).toEqual([])
    const [item] = await room.provider.listInvoiceItems(room.customer.id)
    await room.provider.deleteInvoiceItem(item?.id as string)
    const named = [
      { kind: 'usage_not_invoiced', here: 'late users of 2026-03: 6.00 EUR', there: `the invoice item ${item?.id} was deleted` },
    ]
    expect(await differences(room)).toMatchObject(named)
    await room.until('2026-05-10T00:00:00.000Z')
    expect([room.money()[0], await differences(room)]).toMatchObject([0, named])
    const [live] = room.double.liveSubscriptions(room.customer.id)
    await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
    await room.until('2026-05-11T00:00:00.000Z')
    await room.until('2026-05-12T00:00:00.000Z')
    expect([room.money()[0], await differences(room)]).toEqual([600, []])
  })

  test('asks for the item of late users until an invoice lists it', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(4)
    await room.until('2026-04-06T00:00:00.000Z', (at) => at < '2026-04-01T00:00:00.000Z' || at >= '2026-04-06T00:00:00.000Z')
    let calls = 0
    const { provider } = room.deps
    const counted = {
      ...provider,
      getInvoiceItem: (id: string) => {
        calls++
        return provider.getInvoiceItem(id)
      },
    }
    const compare = async () => (await reconcilePage({ ...room.deps, provider: counted }, { limit: 20 })).differences
    expect([await compare(), calls]).toEqual([[], 1])
    await room.until('2026-05-10T00:00:00.000Z')
    expect([room.money()[0], await compare(), calls]).toEqual([600, [], 1])
  })
})
