import { expect, test } from 'vitest'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

const dayMs = 24 * 60 * 60_000
type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** An operator gives the tenant another payment customer. */
async function changeCustomer(room: Room): Promise<string> {
  const { id } = await room.provider.createCustomer({ key: 'other', name: 'Acme', email: 'b@acme.example', metadata: {} })
  await room.db.updateTable('tenants').set({ payment_customer_id: id }).where('id', '=', 'ten_acme').execute()
  return id
}

async function uninstall(room: Room): Promise<void> {
  await room.uninstall()
  await room.runJobs()
  await room.clock.advance(dayMs)
}

onBothDialects('an item that is installed again after the payment customer changed', (fresh) => {
  test('continues its subscription until the end of its period, without a charge', async () => {
    const room = await aBillingWorld(await fresh())
    const { paidUntil } = await room.install()
    const other = await changeCustomer(room)
    await uninstall(room)
    const again = await room.install()
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([1000, 0])
    expect(again.paidUntil).toBe(paidUntil)
    expect(room.double.liveSubscriptions(room.customer.id).map((one) => one.cancelAtPeriodEnd)).toEqual([false])
  })

  test('reports its users to the customer of the subscription, which is charged once', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.install()
    const other = await changeCustomer(room)
    await uninstall(room)
    await room.install()
    await room.active(4)
    await room.until('2026-04-10T00:00:00.000Z')
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([600, 0])
  })

  test('gets a new subscription if the former customer belongs to another tenant', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const other = await changeCustomer(room)
    const acme = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
    const beta = { ...acme, id: 'ten_beta', slug: 'beta', chat_domain: 'beta.example', payment_customer_id: room.customer.id }
    await room.db.insertInto('tenants').values(beta).execute()
    await uninstall(room)
    await room.install()
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([1000, 1000])
    expect(room.double.liveSubscriptions(room.customer.id).map((one) => one.cancelAtPeriodEnd)).toEqual([true])
  })

  test('ends with its period again if the installation fails', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const other = await changeCustomer(room)
    await uninstall(room)
    room.faults.install = Number.MAX_SAFE_INTEGER
    await expect(room.install()).rejects.toThrow()
    for (const ms of [dayMs, 61_000, 61_000]) {
      await room.clock.advance(ms)
      await room.runJobs()
    }
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([1000, 0])
    expect(room.double.liveSubscriptions(room.customer.id).map((one) => one.cancelAtPeriodEnd)).toEqual([true])
  })
})
