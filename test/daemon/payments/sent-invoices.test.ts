import { expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { paymentsOfMarketplace } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

// With `payments.collection: invoice` each invoice is a draft for an hour, is sent then, and is due after 14 days.

const hourMs = 60 * 60_000
type Room = Awaited<ReturnType<typeof aBillingWorld>>

const aWorld = (db: Db) => aBillingWorld(db, { collection: 'invoice' })
const statuses = ({ double }: Room) => [...double.invoices.values()].map(({ status }) => status)

/** What a step leaves: the row, the invoices at the provider, and the differences between both. */
async function state(room: Room) {
  await room.deliver()
  const [row] = await room.rows()
  const installed = row ? `${row.status} ${row.payment_status}` : 'none'
  return [installed, statuses(room), await room.run('billing-reconcile'), room.money()]
}
const same = '0 differences in 1 tenant'

onBothDialects('an item whose invoices are sent', (fresh) => {
  test('is installed with a draft; its invoice is sent, overdue and paid', async () => {
    const room = await aWorld(await fresh())
    await room.install()
    expect(await state(room)).toEqual(['active ok', ['draft'], same, [0, 0, 0]])
    await room.clock.advance(hourMs)
    expect(await state(room)).toEqual(['active ok', ['open'], same, [0, 0, 0]])
    await room.clock.advance(14 * 24 * hourMs)
    expect([await state(room), await room.alerts()]).toEqual([['active past_due', ['open'], same, [0, 0, 0]], ['payment_failed open']])
    room.double.payInvoice([...room.double.invoices.keys()][0] as string)
    expect([await state(room), await room.alerts()]).toEqual([['active ok', ['paid'], same, [1000, 700, 300]], ['payment_failed closed']])
  })

  test.each([
    ['a draft', 0],
    ['sent', hourMs],
  ])('that cannot be installed is cancelled, and its invoice voided while it is %s', async (_, laterMs) => {
    const room = await aWorld(await fresh())
    const provider = {
      ...room.provider,
      createSubscription: async (input: Parameters<typeof room.provider.createSubscription>[0]) => {
        const created = await room.provider.createSubscription(input)
        await room.db.updateTable('tenants').set({ status: 'suspended' }).execute()
        await room.clock.advance(laterMs)
        return created
      },
    }
    const installing = paymentsOfMarketplace({ ...room.deps, provider }).installPaid(room.actor, await room.item())
    // After an hour its lease is lost, and the job continues it.
    await expect(installing).rejects.toThrow(laterMs === 0 ? 'suspended' : 'Another request installs')
    expect(await state(room)).toEqual(['none', ['void'], same, [0, 0, 0]])
    await room.clock.advance(30 * 24 * hourMs)
    expect([await state(room), room.double.liveSubscriptions(room.customer.id)]).toEqual([['none', ['void'], same, [0, 0, 0]], []])
  })

  test('that is uninstalled within the hour is paid for one month', async () => {
    const room = await aWorld(await fresh())
    await room.install()
    await room.uninstall()
    expect(await state(room)).toEqual(['cancelled ok', ['draft'], same, [0, 0, 0]])
    await room.clock.advance(2 * hourMs)
    room.double.payInvoice([...room.double.invoices.keys()][0] as string)
    await room.until('2026-05-12T00:00:00.000Z')
    expect([room.money(), room.double.liveSubscriptions(room.customer.id), await room.alerts()]).toEqual([[1000, 700, 300], [], []])
  })

  test.each([
    ['a draft', 10 * 60_000],
    ['sent', 5 * hourMs],
    ['overdue', 15 * 24 * hourMs],
  ])('owes no new period if the job of its uninstallation comes late: the invoice is %s', async (_, lateMs) => {
    const room = await aWorld(await fresh())
    await room.install()
    await room.until('2026-03-12T00:00:00.000Z')
    room.double.payInvoice([...room.double.invoices.keys()][0] as string)
    await room.until('2026-04-10T09:59:00.000Z')
    await room.uninstall()
    await room.clock.advance(lateMs)
    await room.until('2026-06-12T00:00:00.000Z')
    expect([room.money(), statuses(room)[1], room.double.liveSubscriptions(room.customer.id)]).toEqual([[1000, 700, 300], 'void', []])
    expect([await room.alerts(), room.mails.map(({ subject }) => subject)]).toEqual([[], []])
  })

  test('that the provider ends while its first invoice is a draft names that invoice once it is overdue', async () => {
    const room = await aWorld(await fresh())
    const { paymentSubscriptionId } = await room.install()
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    await room.until('2026-03-24T00:00:00.000Z')
    expect([(await room.rows())[0]?.status, await room.alerts()]).toEqual(['cancelled', []])
    await room.until('2026-03-25T00:00:00.000Z')
    expect(await room.alerts()).toEqual(['payment_failed open'])
  })
})
