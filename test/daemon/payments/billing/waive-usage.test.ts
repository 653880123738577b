import { expect, test } from 'vitest'
import type { TenantId } from '../../../../src/core/kit/index.ts'
import { previewOf } from '../../../../src/daemon/payments/billing/preview.ts'
import { waiveUsage } from '../../../../src/daemon/payments/billing/waive-usage.ts'
import { anOperator } from '../../../support/boxes-world.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

const pilot = { tenant: 'acme', until: '2026-05', reason: 'pilot without charge' }

/** A tenant without payment customer used a paid module from March to May. */
async function aPilot(...[db]: Parameters<typeof aBillingWorld>) {
  const room = await aBillingWorld(db)
  await room.db.updateTable('tenants').set({ payment_customer_id: null, billing_email: 'office@acme.example' }).execute()
  await room.module('attendance', 500)
  await room.until('2026-06-02T00:00:00.000Z')
  return {
    ...room,
    waive: (input: typeof pilot) => waiveUsage(room.deps, anOperator, input),
    addCustomer: () => room.db.updateTable('tenants').set({ payment_customer_id: room.customer.id }).execute(),
    states: async () => (await room.usage()).map(({ month, state }) => `${month} ${state}`),
  }
}

onBothDialects('unbilled months of a tenant', (fresh) => {
  test('that are waived are not charged once it has a payment customer', async () => {
    const room = await aPilot(await fresh())
    const { usage } = await room.waive(pilot)
    expect(usage.map(({ month, cents, state, reason }) => [month, cents, state, reason])).toEqual(
      ['2026-03', '2026-04', '2026-05'].map((month) => [month, 500, 'waived', 'pilot without charge']),
    )
    expect(await room.alerts()).toEqual(['billing_incomplete closed'])
    const audited = room.db.selectFrom('audit').select(['subject', 'data']).where('action', '=', 'billing.usage-waived')
    const { subject, data } = await audited.executeTakeFirstOrThrow()
    expect([subject, data]).toEqual(['acme', expect.stringContaining('pilot without charge')])
    await room.addCustomer()
    await room.until('2026-07-02T00:00:00.000Z')
    expect([room.money()[0], await room.states()]).toEqual([500, ['2026-03 waived', '2026-04 waived', '2026-05 waived', '2026-06 billed']])
    expect((await room.waive(pilot)).usage).toEqual([])
  })

  test('of more than 12 months are not charged; they keep the reason until they are waived', async () => {
    const room = await aPilot(await fresh())
    const [first] = await room.usage()
    if (!first) throw new Error('nothing was priced')
    const old = ['2025-05', '2025-06'].map((month) => ({ ...first, id: `mus_${month}`, month }))
    await room.db.insertInto('billing_usage').values(old).execute()
    await room.addCustomer()
    expect(
      (await previewOf(room.deps, { id: 'ten_acme' as TenantId, slug: 'acme' }, '2026-06')).unbilled.map(({ month }) => month),
    ).toEqual(['2025-06', '2026-03', '2026-04', '2026-05'])
    // A row that a call may have charged is billed at any age, without the others of its month.
    const planned = { ...first, id: 'mus_0', month: '2025-05', module_id: 'grades', state: 'planned' as const, reason: null }
    await room.db.insertInto('billing_usage').values(planned).execute()
    expect(await room.run('billing-usage-aggregation')).toContain('5 billed, 1 unbilled')
    const left = (await room.usage()).filter(({ state }) => state === 'unbilled')
    expect(left.map(({ month, reason }) => [month, reason])).toEqual([
      ['2025-05', 'older than 12 months. fix: invoice it by hand if it is due, then waive it'],
    ])
    expect(await room.alerts()).toEqual(['billing_incomplete open'])
    await room.waive({ ...pilot, until: '2025-05' })
    expect(await room.alerts()).toEqual(['billing_incomplete closed'])
  })

  test('are waived also when no run has priced them, and never a month that has not ended', async () => {
    const room = await aPilot(await fresh())
    await room.db.deleteFrom('billing_usage').execute()
    expect((await room.waive({ ...pilot, until: '2026-04' })).usage.map(({ month }) => month)).toEqual(['2026-03', '2026-04'])
    await room.addCustomer()
    await room.run('billing-usage-aggregation')
    expect(await room.states()).toEqual(['2026-03 waived', '2026-04 waived', '2026-05 billed'])
    await expect(room.waive({ ...pilot, until: '2026-06' })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test('in two currencies have one sum for each, in the alert and in the audit log', async () => {
    const room = await aPilot(await fresh())
    await room.db.updateTable('billing_usage').set({ currency: 'chf' }).where('month', '=', '2026-03').execute()
    await room.run('billing-usage-aggregation')
    const { title } = await room.db.selectFrom('alerts').select('title').executeTakeFirstOrThrow()
    expect(title).toBe('3 amounts are not billed (5.00 CHF and 10.00 EUR)')
    await room.waive(pilot)
    const { data } = await room.db.selectFrom('audit').select('data').where('action', '=', 'billing.usage-waived').executeTakeFirstOrThrow()
    expect(JSON.parse(data)).toMatchObject({ rows: 3, amounts: ['5.00 CHF', '10.00 EUR'] })
    expect(await room.alerts()).toEqual(['billing_incomplete closed'])
  })

  test('are not waived while the answer of a call that bills them is missing', async () => {
    const room = await aPilot(await fresh())
    await room.addCustomer()
    room.double.fault('finishInvoice', 'lost')
    await room.run('billing-usage-aggregation')
    expect((await room.states()).filter((one) => one.endsWith(' planned'))).toHaveLength(1)
    await expect(room.waive(pilot)).rejects.toMatchObject({ code: 'CONFLICT' })
    await room.run('billing-usage-aggregation')
    expect(room.money()[0]).toBe(1500)
  })

  test('are named with their amount before they are charged', async () => {
    const room = await aPilot(await fresh())
    await room.addCustomer()
    room.mails.length = 0
    await room.clock.advance(Date.parse('2026-06-24T09:00:00.000Z') - room.clock.now().getTime())
    await room.run('billing-period-end-warning')
    await room.runJobs()
    expect(room.mails[0]?.text).toContain('earlier months are not charged yet')
    expect(room.mails[0]?.text).toMatch(/Modules in 2026-03: 5\.00 EUR\s+Modules in 2026-04: 5\.00 EUR\s+Modules in 2026-05: 5\.00 EUR/)
    expect(room.mails[0]?.text).toContain('Total: 5.00 EUR')
  })
})
