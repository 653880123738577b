import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld, aUsedItem, perUser } from '../../support/payments/billing-world.ts'

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
