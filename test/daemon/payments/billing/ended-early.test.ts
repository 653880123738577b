import { expect, test } from 'vitest'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, aUsedItem, perUser } from '../../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** An operator cancels the subscription in the Dashboard: its period gets no invoice. */
async function cancelByHand(room: Room): Promise<void> {
  const [live] = room.double.liveSubscriptions(room.customer.id)
  await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
  await room.deliver()
  await room.clock.advance(2 * 60 * 60_000)
  await room.runJobs()
}

onBothDialects('usage that was reported before its subscription was cancelled by hand', (fresh) => {
  test('is charged once, of which the vendor gets 70 %: the item is installed', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.until('2026-04-02T00:00:00.000Z')
    await cancelByHand(room)
    expect(room.money()).toEqual([450, 315, 135])
    await room.until('2026-06-01T00:00:00.000Z')
    expect(room.money()).toEqual([450, 315, 135])
  })

  test('is charged once: the item was uninstalled before', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.uninstall()
    await room.until('2026-03-20T00:00:00.000Z')
    await cancelByHand(room)
    await room.until('2026-06-01T00:00:00.000Z')
    expect(room.money()).toEqual([450, 315, 135])
  })

  test('is charged once: the item was installed again with another subscription', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.uninstall()
    await room.until('2026-03-20T00:00:00.000Z')
    const [former] = room.double.liveSubscriptions(room.customer.id)
    await room.provider.cancelSubscription({ key: 'by hand', id: former?.id as string })
    await room.install()
    await room.deliver()
    await room.until('2026-04-30T00:00:00.000Z')
    expect(room.money()).toEqual([450, 315, 135])
  })

  test.each([
    ['until now', '2026-03-10T10:00:00.000Z', '2026-03-20T00:00:00.000Z'],
    ['of that moment', '2026-03-20T00:00:00.000Z', '2026-03-20T00:00:00.000Z'],
    ['that it would have had', '2026-03-10T10:00:00.000Z', '2026-04-05T12:00:00.000Z'],
  ])(
    'is not charged again if it was invoiced with the cancellation, whatever period the invoice has: %s',
    async (_, periodStart, periodEnd) => {
      const room = await aUsedItem(await fresh())
      await room.until('2026-03-20T00:00:00.000Z')
      const [live] = room.double.liveSubscriptions(room.customer.id)
      room.double.cancelWithInvoice(live?.id as string, { periodStart, periodEnd })
      await room.until('2026-04-10T00:00:00.000Z')
      expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
      await room.until('2026-06-01T00:00:00.000Z')
      expect([room.money(), await room.alerts()]).toEqual([[450, 315, 135], []])
    },
  )

  test('is not charged again if the invoice of the cancellation was voided, which waives it', async () => {
    const room = await aUsedItem(await fresh())
    await room.until('2026-03-20T00:00:00.000Z')
    const [live] = room.double.liveSubscriptions(room.customer.id)
    const period = { periodStart: '2026-03-10T10:00:00.000Z', periodEnd: '2026-04-05T12:00:00.000Z' }
    const invoiceId = room.double.cancelWithInvoice(live?.id as string, { ...period, isPaid: false })
    await room.provider.voidInvoice({ key: 'waived', invoiceId })
    await room.until('2026-06-01T00:00:00.000Z')
    expect([room.money()[0], await room.run('billing-reconcile')]).toEqual([0, '0 differences in 1 tenant'])
  })

  test('is not charged again when its invoice came', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.until('2026-04-07T00:00:00.000Z')
    expect(room.money()).toEqual([450, 315, 135])
    await cancelByHand(room)
    await room.until('2026-06-01T00:00:00.000Z')
    expect([room.money(), await room.alerts()]).toEqual([[450, 315, 135], []])
  })

  test('is not charged again when the end is reported before its invoice is listed', async () => {
    const room = await aUsedItem(await fresh())
    await room.until('2026-04-05T11:59:00.000Z')
    await room.clock.advance(70_000)
    const all = room.double.events()
    await room.send(all.find(({ type }) => type === 'customer.subscription.deleted') as (typeof all)[number])
    const invoices = [...room.double.invoices]
    const [last] = invoices.filter(([, { status }]) => status === 'draft')
    room.double.invoices.delete(last?.[0] as string)
    await room.runJobs()
    if (last) room.double.invoices.set(...last)
    await room.until('2026-04-20T00:00:00.000Z')
    expect(room.money()).toEqual([450, 315, 135])
  })
})

/** No daemon ran between 1 and 6 April: the four users of March are charged by an item of the next invoice. */
async function withLateItem(...[db]: Parameters<typeof aBillingWorld>): Promise<Room> {
  const room = await aBillingWorld(db, perUser)
  await room.install()
  await room.active(4)
  await room.until('2026-04-06T00:00:00.000Z', (at) => at < '2026-04-01T00:00:00.000Z' || at >= '2026-04-06T00:00:00.000Z')
  expect([room.money()[0], await room.alerts()]).toEqual([0, ['billing_incomplete open']])
  return room
}

onBothDialects('late usage whose invoice item waits when its subscription is cancelled by hand', (fresh) => {
  test('is charged once on an invoice of its own, and its item is deleted', async () => {
    const room = await withLateItem(await fresh())
    await cancelByHand(room)
    // Four users at 1.50 EUR.
    expect(room.money()).toEqual([600, 420, 180])
    expect((await room.provider.listInvoiceItems(room.customer.id)).filter(({ invoiceId }) => invoiceId === null)).toEqual([])
    const [march] = await room.reports()
    expect(march).toMatchObject({ month: '2026-03', claimed_cents: 600, invoice_id: expect.stringContaining('in_') })
    expect(await room.alerts()).toEqual(['billing_incomplete closed', 'billing_incomplete open'])
    await room.until('2026-06-10T00:00:00.000Z')
    expect(room.money()).toEqual([600, 420, 180])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
  })

  test('is charged once with usage of the period that the cancellation ends', async () => {
    const room = await withLateItem(await fresh())
    await room.active(2)
    await cancelByHand(room)
    await room.until('2026-06-10T00:00:00.000Z')
    expect(room.money()).toEqual([900, 630, 270])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
  })

  test('is not charged again if the next invoice had it', async () => {
    const room = await withLateItem(await fresh())
    await room.until('2026-05-20T00:00:00.000Z')
    expect(room.money()).toEqual([600, 420, 180])
    await cancelByHand(room)
    await room.until('2026-06-10T00:00:00.000Z')
    expect(room.money()).toEqual([600, 420, 180])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
  })

  test.each(['deleteInvoiceItem', 'createInvoice', 'createInvoiceItem', 'finishInvoice'] as const)(
    'is charged once if %s gets no answer',
    async (operation) => {
      for (const kind of ['lost', 'answer lost', 'failed after'] as const) {
        const room = await withLateItem(await fresh())
        room.double.fault(operation, kind)
        await cancelByHand(room).catch(() => undefined)
        await room.until('2026-06-10T00:00:00.000Z')
        expect([kind, room.money()]).toEqual([kind, [600, 420, 180]])
        expect([kind, (await room.alerts()).filter((one) => one.startsWith('billing_incomplete'))]).toEqual([
          kind,
          ['billing_incomplete closed', 'billing_incomplete open'],
        ])
      }
    },
  )
})
