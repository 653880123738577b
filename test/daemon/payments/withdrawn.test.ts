import { expect, test } from 'vitest'
import { isoNow, type TenantId } from '../../../src/core/kit/index.ts'
import { previewOf } from '../../../src/daemon/payments/billing/preview.ts'
import { payoutsOf, salesOf } from '../../../src/daemon/payments/billing/vendor-money.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld, perUser } from '../../support/payments/billing-world.ts'
import { codeOf } from '../../support/tasks-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>

async function setWithdrawn({ db, clock, payments, runJobs }: Room, isWithdrawn: boolean): Promise<void> {
  const status = isWithdrawn ? ('archived' as const) : ('published' as const)
  await db
    .updateTable('marketplace_items')
    .set({ status, withdrawn_at: isWithdrawn ? isoNow(clock) : null })
    .execute()
  await db.transaction().execute((tx) => payments.endsChanged(tx, { itemId: 'item_1' }))
  await runJobs()
}

const statusesOf = async ({ rows }: Room) => (await rows()).map(({ status }) => status)

onBothDialects('the item of a vendor', (fresh) => {
  test('that was withdrawn is used until the end of the period, charged no further, and then gone', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.until('2026-04-20T00:00:00.000Z')
    const charged = room.money()
    await setWithdrawn(room, true)
    const [live] = room.double.liveSubscriptions(room.customer.id)
    expect(live?.cancelAtPeriodEnd).toBe(true)
    expect(await statusesOf(room)).toEqual(['active'])
    expect((await room.rows())[0]?.paid_until).toBe('2026-05-10T10:00:00.000Z')
    const tenant = { id: 'ten_acme' as TenantId, slug: 'acme' }
    expect((await previewOf(room.deps as never, tenant, '2026-04')).totalCents).toBe(1000)
    expect((await previewOf(room.deps as never, tenant, '2026-05')).totalCents).toBe(0)
    await room.until('2026-05-09T00:00:00.000Z')
    expect(await statusesOf(room)).toEqual(['active'])
    await room.until('2026-05-11T00:00:00.000Z')
    expect(await statusesOf(room)).toEqual(['cancelled'])
    await room.until('2026-07-01T00:00:00.000Z')
    expect(room.money()).toEqual(charged)
    const { sales } = await salesOf(room.deps, { vendorIds: ['ven_1'] })
    expect(sales.map(({ month, cents }) => `${month} ${cents}`)).toEqual(['2026-04 1000', '2026-03 1000'])
  })

  test('that was withdrawn ends by a topic that a former replica does not know: its cancellations let an active subscription continue', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.runJobs()
    await room.db.deleteFrom('jobs').execute()
    await room.jobs['payments.item-ends']?.({ itemId: 'item_1' }, { last: false })
    expect(await room.db.selectFrom('jobs').select('topic').execute()).toEqual([{ topic: 'payments.withdrawal' }])
  })

  test('that was withdrawn between the charge and the installation ends with its period too', async () => {
    const room = await aBillingWorld(await fresh())
    room.faults.install = 1
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    expect([room.money()[0], await room.rows()]).toEqual([1000, []])
    await setWithdrawn(room, true)
    await room.clock.advance(61_000)
    await room.runJobs()
    expect(await statusesOf(room)).toEqual(['active'])
    expect(room.double.liveSubscriptions(room.customer.id)[0]?.cancelAtPeriodEnd).toBe(true)
    await room.until('2026-07-01T00:00:00.000Z')
    expect(await statusesOf(room)).toEqual(['cancelled'])
    expect(room.money()[0]).toBe(1000)
  })

  test('that is published again within the period continues', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await setWithdrawn(room, true)
    await setWithdrawn(room, false)
    expect(room.double.liveSubscriptions(room.customer.id)[0]?.cancelAtPeriodEnd).toBe(false)
    await room.until('2026-05-01T00:00:00.000Z')
    expect(await statusesOf(room)).toEqual(['active'])
    expect(room.money()).toEqual([2000, 1400, 600])
  })

  test('with a price per user is charged for those who used it until the end', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await setWithdrawn(room, true)
    await room.until('2026-07-01T00:00:00.000Z')
    expect(await statusesOf(room)).toEqual(['cancelled'])
    expect(room.money()).toEqual([450, 315, 135])
    const { sales } = await salesOf(room.deps, { vendorIds: ['ven_1'] })
    expect(sales).toEqual([
      { month: '2026-03', itemId: 'item_1', name: 'Visits', priceModel: 'per-active-user', quantity: 3, cents: 450, currency: 'eur' },
    ])
  })

  test('has sales that add up to what its customers paid, and another vendor has none', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.until('2026-06-20T00:00:00.000Z')
    const { from, to, sales } = await salesOf(room.deps, { vendorIds: ['ven_1'] })
    expect([from, to]).toEqual(['2025-06', '2026-06'])
    expect(sales.map(({ month, quantity }) => `${month} ${quantity}`)).toEqual(['2026-06 1', '2026-05 1', '2026-04 1', '2026-03 1'])
    expect(sales.reduce((sum, { cents }) => sum + cents, 0)).toBe(room.money()[0])
    expect(JSON.stringify(sales)).not.toMatch(/acme/)
    for (const vendorIds of [[], ['ven_2']]) expect((await salesOf(room.deps, { vendorIds })).sales).toEqual([])
    expect(await codeOf(salesOf(room.deps, { vendorIds: ['ven_1'], from: '2026-06', to: '2026-05' }))).toBe('VALIDATION')
    expect(await payoutsOf(room.deps, ['ven_1'])).toEqual({ payouts: [] })
  })
})
