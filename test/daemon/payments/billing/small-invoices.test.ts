import { expect, test } from 'vitest'
import { reconcilePage } from '../../../../src/daemon/payments/billing/reconcile.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

onBothDialects('an invoice below the least charge of the provider', (fresh) => {
  test('is paid without money; the next invoice collects its amount, and nothing is charged twice', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 20 })
    await room.install()
    await room.until('2026-03-20T00:00:00.000Z')
    await room.active(2)
    await room.until('2026-04-08T00:00:00.000Z')
    const sums = () =>
      [...room.double.invoices.values()].filter(({ total }) => total.cents > 0).map((one) => [one.status, one.total.cents, one.paidCents])
    expect([room.money(), sums()]).toEqual([[0, 0, 0], [['paid', 40, 0]]])
    await room.active(5)
    await room.until('2026-05-08T00:00:00.000Z')
    expect([room.money(), sums()]).toEqual([
      [140, 98, 42],
      [
        ['paid', 40, 0],
        ['paid', 100, 140],
      ],
    ])
    expect((await room.alerts()).concat((await reconcilePage(room.deps, { limit: 50 })).differences.map(({ kind }) => kind))).toEqual([])
  })

  test('leaves its modules held: no developer is paid for them', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 30)
    await room.until('2026-04-04T00:00:00.000Z')
    expect([room.money(), (await room.usage()).map(({ state }) => state)]).toEqual([[0, 0, 0], ['billed']])
    expect(await room.payouts()).toMatchObject([{ month: '2026-03', net_cents: 0, held_cents: 30 }])
  })
})
