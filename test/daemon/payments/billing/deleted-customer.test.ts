import { expect, test } from 'vitest'
import { paymentFailure } from '../../../../src/core/payments/index.ts'
import { listUsage } from '../../../../src/daemon/payments/billing/list-billing.ts'
import { waiveUsage } from '../../../../src/daemon/payments/billing/waive-usage.ts'
import { cronFailedKey, drainJobs } from '../../../../src/daemon/work/index.ts'
import { anOperator } from '../../../support/boxes-world.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'

const waiver = { tenant: 'acme', until: '2026-03', reason: 'invoiced by hand' }

/** Three users were active in March; the customer was deleted at the provider, which ends its subscriptions. */
async function aDeletedCustomer(...[db]: Parameters<typeof aBillingWorld>) {
  const room = await aBillingWorld(db, perUser)
  const stored = await room.install()
  await room.active(3)
  await room.provider.cancelSubscription({ key: 'deleted', id: stored.paymentSubscriptionId as string })
  room.double.deleteCustomer(room.customer.id)
  const month = async (at: string) => {
    await room.clock.advance(Date.parse(at) - room.clock.now().getTime())
    return room.run('marketplace-monthly-billing')
  }
  const states = async () =>
    (await listUsage(room.deps, { limit: 10 })).usage.filter(({ cents }) => cents > 0).map(({ state, reason }) => [state, reason])
  return { ...room, month, states }
}

onBothDialects('usage of a payment customer that was deleted at the provider', (fresh) => {
  test('is unbilled with its reason and one alert; the cron succeeds each month', async () => {
    const room = await aDeletedCustomer(await fresh())
    for (const at of ['2026-04-01T06:30:00.000Z', '2026-05-01T06:30:00.000Z'])
      expect(await room.month(at)).toContain('0 reports sent, 1 unbilled')
    expect(await room.states()).toEqual([['unbilled', `the payment customer ${room.customer.id} does not exist any more`]])
    expect((await listUsage(room.deps, { limit: 10, state: 'unbilled' })).open).toEqual({ unbilled: 1, planned: 0 })
    expect(await room.alerts()).toEqual(['billing_incomplete open'])
    const { title, body } = await room.db.selectFrom('alerts').select(['title', 'body']).executeTakeFirstOrThrow()
    expect(title).toBe('1 amount is not billed (4.50 EUR)')
    expect(body).toContain('no job charges them while it is missing, and each run tries them again')
    expect(body).toContain('tenantry billing waive <tenant> --until <month> --kind users')
  })

  test('ends by a waiver of users, which leaves modules; no later event charges it', async () => {
    const room = await aDeletedCustomer(await fresh())
    await room.module('attendance', 500)
    await room.month('2026-04-01T06:30:00.000Z')
    await room.run('billing-usage-aggregation')
    expect(await room.alerts()).toEqual(['billing_incomplete open'])
    const { usage } = await waiveUsage(room.deps, anOperator, { ...waiver, kind: 'users' })
    expect(usage.map(({ kind, cents, state, reason }) => [kind, cents, state, reason])).toEqual([
      ['users', 450, 'waived', 'invoiced by hand'],
    ])
    expect((await room.usage()).map(({ state }) => state)).toEqual(['unbilled'])
    expect(await room.alerts()).toEqual(['billing_incomplete open'])
    await waiveUsage(room.deps, anOperator, { ...waiver, kind: 'module' })
    expect(await room.alerts()).toEqual(['billing_incomplete closed'])
    await room.deliver()
    await room.clock.advance(3 * 3_600_000)
    await room.runJobs()
    expect(await room.month('2026-05-01T06:30:00.000Z')).toContain('0 reports sent, 0 unbilled')
    expect((await room.states()).filter(([state]) => state !== 'waived')).toEqual([])
    expect(room.money()[0]).toBe(0)
  })

  test('is charged by the next run that finds its customer, as after a wrong key', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.clock.advance(Date.parse('2026-04-01T06:30:00.000Z') - room.clock.now().getTime())
    const reportUsage = () => Promise.reject(paymentFailure('not_found', 'No such customer'))
    const provider = { ...room.provider, reportUsage, getCustomer: async () => null }
    expect(await room.run('marketplace-monthly-billing', { ...room.deps, provider })).toContain('0 reports sent, 1 unbilled')
    expect(await room.run('marketplace-monthly-billing')).toContain('1 report sent, 0 unbilled')
    await room.until('2026-04-06T00:00:00.000Z')
    expect([room.money()[0], await room.alerts()]).toEqual([450, ['billing_incomplete closed']])
  })

  test('leaves no dead job when the subscription ends', async () => {
    const room = await aDeletedCustomer(await fresh())
    await room.deliver()
    for (let hour = 0; hour < 30; hour++) {
      await drainJobs({ db: room.db, clock: room.clock, log: room.deps.log, handlers: room.jobs })
      await room.clock.advance(3_600_000)
    }
    expect(
      await room.db
        .selectFrom('jobs')
        .select(['topic', 'status'])
        .where('status', '=', 'dead')
        .where('topic', 'like', 'billing.%')
        .execute(),
    ).toEqual([])
    const failed = await room.db
      .selectFrom('alerts')
      .select('key')
      .where('key', '=', cronFailedKey('marketplace-monthly-billing'))
      .execute()
    expect([await room.alerts(), failed]).toEqual([['billing_incomplete open'], []])
  })
})
