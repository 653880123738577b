import { expect, test } from 'vitest'
import { paymentFailure } from '../../../../src/core/payments/index.ts'
import { raiseAlert } from '../../../../src/daemon/alerts/index.ts'
import { enqueueJob } from '../../../../src/daemon/db/index.ts'
import { type BillingDeps, noProvider, paymentsFeature } from '../../../../src/daemon/payments/index.ts'
import { cronFailed, drainJobs } from '../../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

type Room = Awaited<ReturnType<typeof aBillingWorld>>
type Provider = BillingDeps['provider']

const to = (room: Room, at: string) => room.clock.advance(Date.parse(at) - room.clock.now().getTime())
const jobs = ({ db }: Room) => db.selectFrom('jobs').select(['topic', 'status']).where('topic', 'like', 'billing.%').execute()

/** A replica with a provider of its own: its crons, and the real job queue. */
function aReplica(room: Room, provider: Partial<Provider> = {}) {
  const deps = { ...room.deps, provider: { ...room.provider, ...provider } as Provider }
  const handlers = paymentsFeature.jobs?.(deps as never) ?? {}
  return {
    cron: (key: string) =>
      paymentsFeature
        .crons?.(deps as never)
        .find((one) => one.key === key)
        ?.run({ signal: new AbortController().signal }),
    drain: (signal?: AbortSignal) => drainJobs({ db: room.db, clock: room.clock, log: room.deps.log, handlers }, signal),
  }
}

async function secondTenant(room: Room) {
  const { id } = await room.provider.createCustomer({ key: 'cb', name: 'Beta', email: 'b@beta.example', metadata: {} })
  await room.db
    .insertInto('tenants')
    .values({
      ...{ id: 'ten_beta', slug: 'beta', name: 'Beta', plan: 'light', status: 'active', chat_domain: 'beta.example', feature_flags: '{}' },
      ...{ created_at: room.clock.now().toISOString(), time_zone: null, maintenance_window: null, payment_customer_id: id },
    })
    .execute()
}

onBothDialects('a monthly run that is interrupted', (fresh) => {
  test('bills the other tenants within minutes after a restart', async () => {
    const room = await aBillingWorld(await fresh())
    await secondTenant(room)
    await room.module('attendance', 500)
    await room.module('attendance', 500, 'ten_beta')
    await to(room, '2026-04-01T02:00:00.000Z')
    const stop = new AbortController()
    const stopped = aReplica(room, {
      finishInvoice: async (input) => {
        const invoice = await room.provider.finishInvoice(input)
        stop.abort()
        return invoice
      },
    })
    await stopped.cron('billing-usage-aggregation')
    await stopped.drain(stop.signal)
    expect((await room.usage()).map(({ state }) => state).sort()).toEqual(['billed', 'planned'])
    await room.clock.advance(5 * 60_000)
    await aReplica(room).drain()
    expect((await room.usage()).map(({ state }) => state)).toEqual(['billed', 'billed'])
    expect(await jobs(room)).toEqual([])
  })

  test('pays developers on the same day after a call without answer', async () => {
    const room = await aBillingWorld(await fresh())
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    await to(room, '2026-04-03T04:00:00.000Z')
    const away = aReplica(room, {
      getInvoice: async () => {
        throw paymentFailure('unreachable', 'The payment provider did not answer or is busy')
      },
    })
    await away.cron('billing-developer-payouts')
    await away.drain()
    expect(await jobs(room)).toEqual([{ topic: 'billing.paid-invoices', status: 'queued' }])
    await room.clock.advance(10 * 60_000)
    await aReplica(room).drain()
    expect(await room.payouts()).toHaveLength(1)
  })

  test('raises an alert when its job is dead; the next run closes it', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await to(room, '2026-04-01T02:00:00.000Z')
    const broken = aReplica(room, {
      listInvoiceItems: async () => {
        throw new Error('an answer that nobody expects')
      },
    })
    await broken.cron('billing-usage-aggregation')
    for (let minute = 0; minute < 5 * 60; minute += 10) {
      await broken.drain()
      await room.clock.advance(10 * 60_000)
    }
    expect([await jobs(room), await room.alerts()]).toEqual([[{ topic: 'billing.unbilled-modules', status: 'dead' }], ['jobs_stuck open']])
    await aReplica(room).cron('billing-usage-aggregation')
    await aReplica(room).drain()
    expect([(await room.usage()).map(({ state }) => state), await room.alerts()]).toEqual([['billed'], ['jobs_stuck closed']])
  })

  test('that died before its statements is not hidden by the daily transfers; the next run closes the alert', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer(null)
    await room.module('attendance', 500)
    await room.until('2026-04-04T00:00:00.000Z')
    expect(await jobs(room)).toEqual([{ topic: 'billing.transfers', status: 'pending' }])
    const failed = async () => (await room.alerts()).filter((one) => one.startsWith('jobs_stuck'))
    await room.db.transaction().execute((tx) => raiseAlert(tx, room.clock, cronFailed('billing-developer-payouts', 'dead')))
    for (let day = 0; day < 3; day++) {
      await aReplica(room).drain()
      await room.clock.advance(24 * 60 * 60_000)
    }
    expect(await failed()).toEqual(['jobs_stuck open'])
    await aReplica(room).cron('billing-developer-payouts')
    await aReplica(room).drain()
    expect(await failed()).toEqual(['jobs_stuck closed'])
  })

  test.each([
    ['billing.transfers', {}],
    ['billing.statements', { isRetry: true }],
  ] as const)('whose daily transfers die raises no alert that they cannot close: %s', async (topic, payload) => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.db.transaction().execute((tx) => enqueueJob(tx, room.clock, { topic, payload, key: topic }))
    const broken = aReplica(room)
    await room.db.schema.alterTable('billing_payouts').renameTo('billing_payouts_away').execute()
    for (let minute = 0; minute < 5 * 60; minute += 10) {
      await broken.drain()
      await room.clock.advance(10 * 60_000)
    }
    expect([await jobs(room), await room.alerts()]).toEqual([[{ topic, status: 'dead' }], []])
  })

  test.each([
    ['billing-usage-aggregation', '--topic billing.modules, then --topic billing.unbilled-modules'],
    ['marketplace-monthly-billing', '--topic billing.active-users, then --topic billing.unsent-reports'],
    ['billing-developer-payouts', '--topic billing.paid-invoices, then --topic billing.statements'],
    ['billing-period-end-warning', '--topic billing.announcements'],
    ['billing-reconcile', '--topic billing.comparison'],
  ])('%s names the topic of each of its steps', async (cron, topics) => {
    const room = await aBillingWorld(await fresh())
    expect(await aReplica(room).cron(cron)).toBe(`queued. Progress: tenantry jobs list ${topics}`)
  })
})

onBothDialects('the run of a cron', (fresh) => {
  test('closes the alert of a dead comparison once there is no provider to compare with', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.transaction().execute((tx) => raiseAlert(tx, room.clock, cronFailed('billing-reconcile', 'dead')))
    const finished: string[] = []
    const finish = async (_: unknown, summary: string) => finished.push(summary)
    const cron = paymentsFeature.crons?.({ ...room.deps, provider: noProvider }).find(({ key }) => key === 'billing-reconcile')
    const summary = await cron?.run({ signal: new AbortController().signal, finish })
    expect([summary, finished]).toEqual([expect.stringContaining('nothing to compare'), [summary]])
    expect([await jobs(room), await room.alerts()]).toEqual([[], ['jobs_stuck closed']])
  })

  test('ends with what it enqueues: one that cannot end enqueues nothing', async () => {
    const room = await aBillingWorld(await fresh())
    const cron = paymentsFeature.crons?.(room.deps).find(({ key }) => key === 'billing-reconcile')
    const finish = () => Promise.reject(new Error('killed'))
    await expect(cron?.run({ signal: new AbortController().signal, finish })).rejects.toThrow('killed')
    expect(await jobs(room)).toEqual([])
  })
})

onBothDialects('a run of the payouts by hand', (fresh) => {
  test('begins no second chain of daily transfers', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer(null)
    await room.module('attendance', 500)
    await room.until('2026-04-03T00:00:00.000Z')
    const replica = aReplica(room)
    for (let n = 0; n < 3; n++) {
      await replica.cron('billing-developer-payouts')
      await replica.drain()
      await room.clock.advance(10 * 60_000)
    }
    for (let hour = 0; hour < 72; hour++) {
      await room.clock.advance(60 * 60_000)
      await replica.drain()
    }
    const next = await room.db.selectFrom('jobs').select(['topic', 'next_at']).where('topic', 'like', 'billing.%').execute()
    expect(next).toEqual([{ topic: 'billing.transfers', next_at: '2026-04-06T04:00:00.000Z' }])
    expect(await room.payouts()).toMatchObject([{ state: 'waiting', reason: 'the developer has no vendor' }])
  })
})
