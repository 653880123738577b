import { expect, test } from 'vitest'
import { createPaymentCustomer } from '../../../../src/daemon/payments/billing/customers.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const
type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** The tenant opens the link of the operator and stores a card. */
async function storeCard(room: Room): Promise<void> {
  await createPaymentCustomer(room.deps, operator, { slug: 'acme', billingEmail: 'a@acme.example' })
  room.double.completeSetup(room.customer.id)
}

const lastOutcome = async ({ db }: Room) => {
  const of = db.selectFrom('payment_events').select('outcome').where('type', '=', 'checkout.session.completed')
  return (await of.orderBy('id', 'desc').limit(1).executeTakeFirst())?.outcome
}

onBothDialects('a card that a tenant stored by the link', (fresh) => {
  test('pays the modules of a tenant that never bought an item', async () => {
    const room = await aBillingWorld(await fresh(), { start: '2026-03-10T10:00:00.000Z' })
    room.double.removeCards(room.customer.id)
    await room.developer()
    await room.module('attendance', 500)
    await storeCard(room)
    await room.until('2026-04-02T00:00:00.000Z')
    expect([room.money()[0], await room.alerts()]).toEqual([500, []])
  })

  test('after a failed payment pays the open invoices and later ones, and closes the alert', async () => {
    const room = await aBillingWorld(await fresh(), { start: '2026-03-10T10:00:00.000Z' })
    await room.developer()
    await room.module('attendance', 500)
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    expect([room.money()[0], await room.alerts()]).toEqual([1000, ['payment_failed open', 'payment_failed open']])
    await storeCard(room)
    await room.deliver()
    await room.deliver()
    expect([room.money()[0], await room.alerts()]).toEqual([2500, ['payment_failed closed', 'payment_failed closed']])
    expect(await lastOutcome(room)).toBe(`${room.customer.id} has a means of payment; 2 of 2 open invoices paid`)
    await room.until('2026-05-12T00:00:00.000Z')
    expect(room.money()[0]).toBe(4000)
  })

  test('that is refused too charges nothing; an event that comes again does not charge twice', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.clock.advance(32 * 24 * 60 * 60_000)
    await storeCard(room)
    room.double.refuseCard(room.customer.id)
    await room.deliver()
    expect(await lastOutcome(room)).toContain('0 of 1 open invoice')
    room.double.refuseCard(room.customer.id, false)
    await storeCard(room)
    room.double.fault('payInvoice', 'answer lost')
    await room.deliver().catch(() => undefined)
    await room.deliver()
    const completed = room.double.events().findLast(({ type }) => type === 'checkout.session.completed')
    if (!completed) throw new Error('no event')
    await room.send({ ...completed, id: 'evt_again' })
    await room.deliver()
    expect(room.money()[0]).toBe(2000)
  })

  test('on a page of another program changes nothing', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.clock.advance(32 * 24 * 60 * 60_000)
    room.double.completeSetup(room.customer.id, false)
    await room.deliver()
    expect([room.money()[0], await lastOutcome(room)]).toEqual([1000, 'nothing to do: not a set-up page of this platform'])
  })

  test('stays the default when the event of an older one comes later', async () => {
    const room = await aBillingWorld(await fresh())
    await storeCard(room)
    const [older] = room.double.events().filter(({ type }) => type === 'checkout.session.completed')
    room.double.refuseCard(room.customer.id)
    await storeCard(room)
    await room.deliver()
    if (older) await room.send({ ...older, id: 'evt_late' })
    await room.runJobs()
    await room.install()
    expect(room.money()[0]).toBe(1000)
  })
})
