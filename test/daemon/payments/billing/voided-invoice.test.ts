import { expect, test } from 'vitest'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

const perUser = { priceModel: 'per-active-user', priceCents: 150 } as const
type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** An operator voids the open invoice in the Dashboard; the card of the tenant works again. */
async function voidOpen(room: Room): Promise<void> {
  const open = [...room.double.invoices.values()].find(({ status }) => status === 'open')
  expect(open?.total.cents).toBe(600)
  await room.provider.voidInvoice({ key: 'waived', invoiceId: open?.id as string })
  room.double.refuseCard(room.customer.id, false)
}

onBothDialects('an invoice of usage that an operator voided is not charged again', (fresh) => {
  /** Four users of March, whose invoice was not paid. */
  async function withVoidedMarch(): Promise<Room> {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(4)
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-06T00:00:00.000Z')
    await voidOpen(room)
    return room
  }

  test('the last one of an item that was uninstalled', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.deliver()
    await room.active(4)
    await room.until('2026-03-20T10:00:00.000Z')
    await room.uninstall()
    await room.runJobs()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-10T00:00:00.000Z')
    await voidOpen(room)
    await room.until('2026-06-01T00:00:00.000Z')
    expect(room.money()).toEqual([0, 0, 0])
  })

  test('one of a subscription that continues and is cancelled in the next month', async () => {
    const room = await withVoidedMarch()
    await room.active(2)
    await room.until('2026-04-20T00:00:00.000Z')
    const [live] = room.double.liveSubscriptions(room.customer.id)
    await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
    await room.until('2026-06-01T00:00:00.000Z')
    // Two users of April alone, at 1.50 each.
    expect(room.money()).toEqual([300, 210, 90])
  })

  test('users that were reported after it are waived too', async () => {
    const room = await withVoidedMarch()
    await room.db.updateTable('billing_reports').set({ quantity: 6, revision: 2, sent_at: null }).execute()
    await room.run('marketplace-monthly-billing')
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
    await room.until('2026-06-01T00:00:00.000Z')
    expect(room.money()).toEqual([0, 0, 0])
  })
})

onBothDialects('modules of an invoice that an operator gave up', (fresh) => {
  async function withOpenInvoice() {
    const room = await aBillingWorld(await fresh(), { collection: 'invoice' })
    await room.developer()
    await room.module('attendance', 500)
    await room.db.updateTable('module_installations').set({ status: 'deactivated' }).execute()
    await room.until('2026-04-02T00:00:00.000Z')
    const open = [...room.double.invoices.values()].find(({ status }) => status === 'open')
    return { room, open: open as NonNullable<typeof open> }
  }
  const statements = async (room: Room) => (await room.payouts()).map((one) => [one.month, one.net_cents, one.held_cents])
  const states = async (room: Room) => (await room.usage()).map(({ state }) => state)

  test('are in no statement, not even held', async () => {
    const { room, open } = await withOpenInvoice()
    await room.provider.voidInvoice({ key: 'waived', invoiceId: open.id })
    await room.until('2026-09-10T00:00:00.000Z')
    expect([await states(room), await statements(room)]).toEqual([['void'], []])
  })

  test('are paid to the developer if the uncollectible invoice is paid after all', async () => {
    const { room, open } = await withOpenInvoice()
    open.status = 'uncollectible'
    await room.until('2026-05-20T00:00:00.000Z')
    expect([await states(room), await statements(room)]).toEqual([['void'], []])
    room.double.payInvoice(open.id)
    await room.until('2026-09-10T00:00:00.000Z')
    expect([await states(room), await statements(room)]).toEqual([['paid'], [['2026-05', 350, 0]]])
    expect(room.money()[0]).toBe(500)
  })
})
