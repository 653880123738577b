import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

const audited = async ({ db }: Room) => {
  const rows = await db.selectFrom('audit').select(['data', 'subject']).where('action', '=', 'payment.disputed').orderBy('seq').execute()
  return rows.map(({ data, subject }) => [subject, (JSON.parse(data) as { status: string }).status])
}

async function paid(room: Room): Promise<string> {
  const { paymentSubscriptionId } = await room.install()
  await room.deliver()
  const [invoice] = [...room.double.invoices.values()].filter(({ subscriptionId }) => subscriptionId === paymentSubscriptionId)
  if (!invoice) throw new Error('no invoice')
  return invoice.id
}

onBothDialects('a payment of an item that the bank of the tenant disputes', (fresh) => {
  test('raises an alert with the item, the amount and what to do; nothing is uninstalled; won, the alert closes', async () => {
    const room = await aBillingWorld(await fresh())
    const invoice = await paid(room)
    const dispute = room.double.dispute(invoice)
    await room.deliver()
    const alert = await room.db.selectFrom('alerts').selectAll().executeTakeFirstOrThrow()
    expect(alert).toMatchObject({ kind: 'payment_returned', status: 'open', subject: 'acme' })
    expect(alert.title).toBe('The bank of acme disputes a payment of 10.00 EUR for Visits')
    expect(alert.body).toContain('Send evidence in the Dashboard of the provider')
    expect([(await room.rows())[0]?.status, room.double.liveSubscriptions(room.customer.id).length]).toEqual(['active', 1])
    room.double.dispute(invoice, 'open', dispute)
    await room.deliver()
    expect([await room.alerts(), await audited(room)]).toEqual([['payment_returned open'], [['acme', 'open']]])
    room.double.dispute(invoice, 'won', dispute)
    await room.deliver()
    expect([await room.alerts(), await audited(room)]).toEqual([
      ['payment_returned closed'],
      [
        ['acme', 'open'],
        ['acme', 'won'],
      ],
    ])
  })

  test('lost, it raises another alert that says that the vendor still has its share', async () => {
    const room = await aBillingWorld(await fresh())
    const invoice = await paid(room)
    const dispute = room.double.dispute(invoice)
    await room.deliver()
    room.double.dispute(invoice, 'lost', dispute)
    await room.deliver()
    expect(await room.alerts()).toEqual(['payment_returned closed', 'payment_returned open'])
    const [, lost] = await room.db.selectFrom('alerts').selectAll().orderBy('id').execute()
    expect(lost?.body).toContain('Reverse the transfer to the vendor')
  })

  test.each(['won', 'lost'] as const)('events that arrive late or out of order show it as it is now: %s', async (status) => {
    const room = await aBillingWorld(await fresh())
    const invoice = await paid(room)
    const dispute = room.double.dispute(invoice)
    room.double.dispute(invoice, status, dispute)
    const events = room.double.events().filter(({ objectId }) => objectId === dispute)
    for (const event of events.toReversed()) await room.send(event)
    await room.runJobs()
    expect([await room.alerts(), await audited(room)]).toEqual([status === 'won' ? [] : ['payment_returned open'], [['acme', status]]])
  })

  test('a payment of nobody here changes nothing', async () => {
    const room = await aBillingWorld(await fresh())
    const invoice = await paid(room)
    room.double.dispute(invoice, 'open', 'dp_x')
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    room.double.invoices.delete(invoice)
    await room.deliver()
    expect([await room.alerts(), await audited(room)]).toEqual([[], []])
  })
})
