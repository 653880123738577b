import { expect, test } from 'vitest'
import type { ModuleUsageTable } from '../../../../src/daemon/payments/billing/billing.tables.ts'
import { makeStatement } from '../../../../src/daemon/payments/billing/make-statement.ts'
import { systemRandom } from '../../../../src/node/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>
const at = '2026-03-01T02:00:00.000Z'

/** Paid modules of 5.00 EUR each. */
async function insert({ db }: Room, { month, count, ...of }: Partial<ModuleUsageTable> & Readonly<{ month: string; count: number }>) {
  const rows = Array.from({ length: count }, (_, nth) => ({
    ...{
      id: `mus_${month}_${String(nth).padStart(6, '0')}`,
      tenant_id: `ten_${nth}`,
      module_id: 'attendance',
      month,
      developer_id: 'dev_1',
    },
    ...{ price_cents: 500, currency: 'eur', state: 'paid' as const, reason: null, customer_id: 'cus_1', invoice_id: `in_${nth}` },
    ...{ invoice_item_id: null, refunded_cents: 0, counted_cents: 0, payout_id: null, created_at: at, updated_at: at, ...of },
  }))
  for (let from = 0; from < rows.length; from += 500)
    await db
      .insertInto('billing_usage')
      .values(rows.slice(from, from + 500))
      .execute()
}

onBothDialects('the statement of a developer', (fresh) => {
  test('reads no module that former statements have', async () => {
    const room = await aBillingWorld(await fresh())
    await insert(room, { month: '2026-01', count: 3000, counted_cents: 500, payout_id: 'pyo_1' })
    await insert(room, { month: '2026-02', count: 2 })
    let read = 0
    const db = room.db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        read += result.rows.length
        return result
      },
    })
    expect(await makeStatement({ ...room.deps, db, random: systemRandom }, { developerId: 'dev_1', month: '2026-02' })).toBe(true)
    expect(await room.payouts()).toMatchObject([{ gross_cents: 1000, held_cents: 0, deducted_cents: 0 }])
    expect(read).toBeLessThan(20)
  })

  test('counts, holds and deducts over many pages', async () => {
    const room = await aBillingWorld(await fresh())
    await insert(room, { month: '2025-12', count: 1200, counted_cents: 500, payout_id: 'pyo_1', refunded_cents: 100 })
    await insert(room, { month: '2026-01', count: 30, state: 'billed' })
    await insert(room, { month: '2026-02', count: 2500 })
    const state = () => makeStatement({ ...room.deps, random: systemRandom }, { developerId: 'dev_1', month: '2026-02' })
    expect([await state(), await state()]).toEqual([true, false])
    const grossCents = 2500 * 500 - 1200 * 100
    expect(await room.payouts()).toMatchObject([{ gross_cents: grossCents, held_cents: 30 * 500, deducted_cents: 1200 * 100 }])
    const counted = room.db.selectFrom('billing_usage').select(({ fn }) => fn.sum('counted_cents').as('cents'))
    expect(Number((await counted.executeTakeFirstOrThrow()).cents)).toBe(2500 * 500 + 1200 * 400)
  })

  test('that is too small for all refunds leaves the rest to the next one', async () => {
    const room = await aBillingWorld(await fresh())
    await insert(room, { month: '2025-12', count: 1200, counted_cents: 500, payout_id: 'pyo_1', state: 'refunded', refunded_cents: 500 })
    await insert(room, { month: '2026-01', count: 1100 })
    for (const month of ['2026-01', '2026-02']) {
      await makeStatement({ ...room.deps, random: systemRandom }, { developerId: 'dev_1', month })
      await insert(room, { month: month === '2026-01' ? '2026-02' : '2026-03', count: 200 })
    }
    expect((await room.payouts()).map((one) => [one.month, one.gross_cents, one.deducted_cents])).toEqual([
      ['2026-01', 0, 1100 * 500],
      ['2026-02', 100 * 500, 100 * 500],
    ])
  })
})
