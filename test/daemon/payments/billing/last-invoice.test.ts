import { expect, test } from 'vitest'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

const dayMs = 24 * 60 * 60_000
type Room = Awaited<ReturnType<typeof aBillingWorld>>

const openInvoice = (room: Room) => [...room.double.invoices.values()].find(({ status }) => status === 'open')
const alerts = (room: Room) => room.db.selectFrom('alerts').select(['title', 'status']).orderBy('id').execute()

onBothDialects('the last invoice of a subscription that has ended', (fresh) => {
  test('raises an alert and mails the tenant once if its payment fails; a payment closes the alert', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    await room.install()
    await room.active(7)
    await room.clock.advance(2 * dayMs)
    await room.uninstall()
    await room.runJobs()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-06-05T00:00:00.000Z')
    const item = await room.item()
    expect(await alerts(room)).toEqual([{ title: `A payment of acme for ${item.name} failed`, status: 'open' }])
    expect(room.mails.filter(({ subject }) => subject.includes('payment') || subject.includes('invoice'))).toHaveLength(1)
    // Seven users at 1.50 EUR, for the time before: the item is uninstalled.
    expect(room.mails.at(-1)?.text).toContain('over 10.50 EUR')
    expect(room.mails.at(-1)?.text).toContain('It is for the time until the subscription ended.')
    expect(room.mails.at(-1)?.text).not.toContain('stays installed')
    const { body } = await room.db.selectFrom('alerts').select('body').executeTakeFirstOrThrow()
    expect(body).toContain('Its subscription has ended; the invoice is for the time before.')
    room.double.payInvoice(openInvoice(room)?.id as string)
    await room.deliver()
    expect((await alerts(room)).map(({ status }) => status)).toEqual(['closed'])
  })

  test('keeps an alert open if the provider ends the subscription because it is not paid', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    expect((await alerts(room)).map(({ status }) => status)).toEqual(['open'])
    const [row] = await room.rows()
    await room.provider.cancelSubscription({ key: 'dunning', id: row?.payment_subscription_id as string })
    await room.until('2026-04-20T00:00:00.000Z')
    expect((await alerts(room)).map(({ status }) => status)).toEqual(['closed', 'open'])
    await room.provider.voidInvoice({ key: 'given up', invoiceId: openInvoice(room)?.id as string })
    await room.deliver()
    expect((await alerts(room)).map(({ status }) => status)).toEqual(['closed', 'closed'])
  })

  test('that is sent to the tenant raises an alert only once it is due', async () => {
    const room = await aBillingWorld(await fresh(), { collection: 'invoice' })
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    await room.install()
    // The invoice of March is due on the 24th, and that of April on April 24.
    await room.until('2026-04-12T00:00:00.000Z')
    const [row] = await room.rows()
    const [march, april] = [...room.double.invoices.values()].map(({ id }) => id)
    await room.provider.cancelSubscription({ key: 'dunning', id: row?.payment_subscription_id as string })
    await room.until('2026-04-24T00:00:00.000Z')
    const keys = async () =>
      (await room.db.selectFrom('alerts').select(['key', 'status']).orderBy('id').execute()).map(({ key, status }) => `${key} ${status}`)
    const ended = `payment_failed:${row?.payment_subscription_id} closed`
    expect(await keys()).toEqual([ended, `payment_failed:${march} open`])
    await room.until('2026-04-25T00:00:00.000Z')
    expect(await keys()).toEqual([ended, `payment_failed:${march} open`, `payment_failed:${april} open`])
    const mails = room.mails.map(({ subject }) => subject).filter((subject) => !subject.startsWith('Your charges'))
    expect(mails).toEqual(['The payment for Visits failed', 'Your invoice for Visits is not paid'])
  })
})
