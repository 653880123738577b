import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** The card is refused, 30 users are invoiced at 1.50 each, and the provider ends the subscription. */
async function endUnpaid(room: Room): Promise<void> {
  await room.install()
  room.double.refuseCard(room.customer.id)
  await room.until('2026-03-20T00:00:00.000Z')
  await room.active(30)
  await room.until('2026-04-10T00:00:00.000Z')
  const [row] = await room.rows()
  await room.provider.cancelSubscription({ key: 'dunning', id: row?.payment_subscription_id as string })
  await room.deliver()
}

const openOf = (room: Room) => [...room.double.invoices.values()].find(({ status }) => status === 'open')

onBothDialects('a tenant that has not paid an invoice', (fresh) => {
  test('gets no new subscription until it is paid', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await endUnpaid(room)
    const { id } = openOf(room) ?? { id: '' }
    const refused = { code: 'PAYMENT_FAILED', message: expect.stringContaining(`acme has not paid the invoice ${id} over 45.00 EUR`) }
    await expect(room.install()).rejects.toMatchObject(refused)
    await room.until('2026-06-01T00:00:00.000Z')
    await expect(room.install()).rejects.toMatchObject(refused)
    expect(room.money()).toEqual([0, 0, 0])
    expect(room.double.liveSubscriptions(room.customer.id)).toEqual([])
    room.double.refuseCard(room.customer.id, false)
    await room.provider.payInvoice({ key: 'paid', invoiceId: id })
    await room.deliver()
    expect(await room.install()).toMatchObject({ status: 'active', paymentStatus: 'ok' })
    expect(room.money()).toEqual([4500, 3150, 1350])
  })

  test('buys nothing as soon as an invoice of modules failed; the page of the item says so', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    const obstacle = async () => room.payments.assertBuyable(room.actor, await room.item()).catch((error) => error)
    expect(await obstacle()).toBeUndefined()
    await room.module('attendance', 500)
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-03T00:00:00.000Z')
    const refused = { code: 'PAYMENT_FAILED', message: expect.stringContaining(`${openOf(room)?.id} over 5.00 EUR`) }
    await expect(room.install()).rejects.toMatchObject(refused)
    expect(await obstacle()).toMatchObject(refused)
    room.double.refuseCard(room.customer.id, false)
    await room.provider.payInvoice({ key: 'paid', invoiceId: openOf(room)?.id as string })
    expect(await obstacle()).toBeUndefined()
    expect(await room.install()).toMatchObject({ status: 'active' })
  })

  test('buys nothing as soon as the last invoice of an uninstalled item failed', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.install()
    await room.until('2026-03-20T00:00:00.000Z')
    await room.active(30)
    await room.uninstall()
    await room.runJobs()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-08T00:00:00.000Z')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENT_FAILED', message: expect.stringContaining('45.00 EUR') })
  })

  test('buys again once the invoice is voided', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await endUnpaid(room)
    await room.provider.voidInvoice({ key: 'waived', invoiceId: openOf(room)?.id as string })
    expect(await room.install()).toMatchObject({ status: 'active' })
    expect(room.money()).toEqual([0, 0, 0])
  })

  test('resumes an item that it uninstalled within its period', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    await room.uninstall()
    await room.runJobs()
    await room.payments.assertBuyable(room.actor, await room.item())
    expect(await room.install()).toMatchObject({ status: 'active', paymentStatus: 'past_due' })
    expect(room.money()).toEqual([1000, 700, 300])
  })

  test('buys while an invoice of the platform is not due: 14 days', async () => {
    const room = await aBillingWorld(await fresh(), { collection: 'invoice' })
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    expect(openOf(room)?.total.cents).toBe(500)
    await room.until('2026-04-14T00:00:00.000Z')
    expect(await room.install()).toMatchObject({ status: 'active' })
  })

  test('buys nothing once that invoice is overdue', async () => {
    const room = await aBillingWorld(await fresh(), { collection: 'invoice' })
    await room.module('attendance', 500)
    await room.until('2026-04-20T00:00:00.000Z')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENT_FAILED', message: expect.stringContaining('5.00 EUR') })
    expect(room.money()).toEqual([0, 0, 0])
  })
})
