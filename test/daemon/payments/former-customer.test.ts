import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** An operator gives the tenant another payment customer; the former one belongs to another tenant now. */
async function changeCustomer(room: Room): Promise<void> {
  const { id } = await room.provider.createCustomer({ key: 'other', name: 'Acme', email: 'b@acme.example', metadata: {} })
  await room.db.updateTable('tenants').set({ payment_customer_id: id, billing_email: 'office@acme.example' }).execute()
  const acme = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
  const beta = { ...acme, id: 'ten_beta', slug: 'beta', chat_domain: 'beta.example', billing_email: 'office@beta.example' }
  await room.db
    .insertInto('tenants')
    .values({ ...beta, payment_customer_id: room.customer.id })
    .execute()
}

const alerts = (room: Room) => room.db.selectFrom('alerts').select(['kind', 'subject', 'status']).orderBy('id').execute()
const theInvoice = (room: Room) => [...room.double.invoices.values()][0]?.id as string

async function unpaidModules(...[db]: Parameters<typeof aBillingWorld>): Promise<Room> {
  const room = await aBillingWorld(db)
  await room.module('attendance', 500)
  room.double.refuseCard(room.customer.id)
  await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
  await room.run('billing-usage-aggregation')
  return room
}

onBothDialects('an invoice of a former payment customer of a tenant', (fresh) => {
  test('for modules that is not paid raises the alert of its tenant and mails it', async () => {
    const room = await unpaidModules(await fresh())
    await changeCustomer(room)
    await room.deliver()
    expect(await alerts(room)).toEqual([{ kind: 'payment_failed', subject: 'acme', status: 'open' }])
    expect(room.mails.map(({ to }) => to)).toEqual(['office@acme.example'])
  })

  test('that was not paid before the change closes its alert when it is voided', async () => {
    const room = await unpaidModules(await fresh())
    await room.deliver()
    await changeCustomer(room)
    await room.provider.voidInvoice({ key: 'v', invoiceId: theInvoice(room) })
    await room.deliver()
    expect(await alerts(room)).toEqual([{ kind: 'payment_failed', subject: 'acme', status: 'closed' }])
  })

  test('for an item that its bank disputes raises the alert of its tenant, which closes when it is won', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.deliver()
    await changeCustomer(room)
    const dispute = room.double.dispute(theInvoice(room))
    await room.deliver()
    expect(await alerts(room)).toEqual([{ kind: 'payment_returned', subject: 'acme', status: 'open' }])
    room.double.dispute(theInvoice(room), 'won', dispute)
    await room.deliver()
    expect(await alerts(room)).toEqual([{ kind: 'payment_returned', subject: 'acme', status: 'closed' }])
  })
})
