import { expect, test } from 'vitest'
import { paymentsOfMarketplace } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPaymentsWorld } from '../../support/payments/payments-world.ts'

const dayMs = 24 * 60 * 60_000

// 10.00 EUR and 19 % VAT. The provider takes the share of a vendor from the total with tax.
onBothDialects('a platform that adds taxes', (fresh) => {
  test('sells its own items and keeps the tax', async () => {
    const room = await aPaymentsWorld(await fresh(), { automaticTax: true, vendor: false })
    await room.install()
    expect(room.money()).toEqual([1190, 0, 1190])
  })

  test('refuses an item of a vendor before anything is charged', async () => {
    const room = await aPaymentsWorld(await fresh(), { automaticTax: true })
    const refused = expect.objectContaining({ code: 'PAYMENTS_UNAVAILABLE', message: expect.stringContaining('payments.automaticTax') })
    await expect(room.payments.assertBuyable(room.actor, await room.item())).rejects.toEqual(refused)
    await expect(room.install()).rejects.toEqual(refused)
    expect([room.money(), await room.attempts()]).toEqual([[0, 0, 0], []])
  })

  test('never pays a vendor from a subscription with tax, when the vendor comes later and when the item is installed again', async () => {
    const room = await aPaymentsWorld(await fresh(), { automaticTax: true, vendor: false })
    await room.install()
    await room.db.updateTable('marketplace_items').set({ vendor_id: 'ven_1' }).execute()
    await room.db.transaction().execute((tx) => room.payments.termsChanged(tx, { itemId: 'item_1' }))
    await room.runJobs()
    await room.clock.advance(32 * dayMs)
    expect(room.money()).toEqual([2380, 0, 2380])
    await room.uninstall()
    await room.runJobs()
    await paymentsOfMarketplace({ ...room.deps, automaticTax: false }).installPaid(room.actor, await room.item())
    await room.clock.advance(32 * dayMs)
    expect(room.money()).toEqual([3570, 0, 3570])
  })
})
