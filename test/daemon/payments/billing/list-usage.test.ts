import { expect, test } from 'vitest'
import type { ModuleUsageTable } from '../../../../src/daemon/payments/billing/billing.tables.ts'
import { listUsage } from '../../../../src/daemon/payments/billing/list-billing.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'

const row = (nth: number, state: ModuleUsageTable['state'], createdAt: string): ModuleUsageTable => ({
  ...{
    id: `mus_${String(nth).padStart(4, '0')}`,
    tenant_id: 'ten_acme',
    module_id: `module-${nth}`,
    month: '2026-02',
    developer_id: 'dev_1',
  },
  ...{ price_cents: 100, currency: 'eur', state, reason: null, customer_id: null, invoice_id: null, invoice_item_id: null },
  ...{ refunded_cents: 0, counted_cents: 0, payout_id: null, created_at: createdAt, updated_at: createdAt },
})

onBothDialects('the list of usage', (fresh) => {
  test('counts what is not billed behind the page, and shows it by its state', async () => {
    const room = await aBillingWorld(await fresh())
    const newer = Array.from({ length: 60 }, (_, nth) => row(nth + 2, 'billed', '2026-03-01T02:00:01.000Z'))
    const open = [row(0, 'unbilled', '2026-03-01T02:00:00.000Z'), row(1, 'planned', '2026-03-01T02:00:00.000Z')]
    await room.db
      .insertInto('billing_usage')
      .values([...open, ...newer])
      .execute()
    const page = await listUsage(room.deps, { limit: 50 })
    expect([page.open, page.usage.some(({ state }) => state === 'unbilled')]).toEqual([{ unbilled: 1, planned: 1 }, false])
    const unbilled = await listUsage(room.deps, { limit: 50, state: 'unbilled', tenant: 'acme' })
    expect(unbilled.usage.map(({ id, state }) => `${id} ${state}`)).toEqual(['mus_0000 unbilled'])
    expect((await listUsage(room.deps, { limit: 50, state: 'paid' })).usage).toEqual([])
  })

  test('filters reports of active users by the state that it shows', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.until('2026-04-02T00:00:00.000Z')
    const states = async (state: 'planned' | 'reported' | 'billed' | 'unbilled') =>
      (await listUsage(room.deps, { limit: 50, state })).usage.map((one) => one.state)
    expect([await states('reported'), await states('planned'), await states('billed'), await states('unbilled')]).toEqual([
      ['reported'],
      ...[[], [], []],
    ])
    await room.db.updateTable('billing_reports').set({ sent_at: null }).execute()
    expect(await states('planned')).toEqual(['planned'])
    await room.db.updateTable('billing_reports').set({ sent_at: '2026-04-06T00:00:00.000Z', invoice_item_id: 'ii_1' }).execute()
    expect(await states('billed')).toEqual(['billed'])
  })
})
