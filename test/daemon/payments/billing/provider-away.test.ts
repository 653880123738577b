import { expect, test } from 'vitest'
import { type PaymentFailure, paymentFailure } from '../../../../src/core/payments/index.ts'
import { type BillingDeps, paymentsFeature } from '../../../../src/daemon/payments/index.ts'
import { drainJobs } from '../../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'

const minuteMs = 60_000
type Room = Awaited<ReturnType<typeof aBillingWorld>>
type Operation = 'reportUsage' | 'createInvoice' | 'getCustomer'

/** Jobs by the real queue, with a provider of which one operation fails until `answer` is called. */
function queueOf(room: Room, { operation, kind }: Readonly<{ operation: Operation; kind: PaymentFailure['kind'] }>) {
  let isFailing = true
  const call = room.provider[operation] as (input: unknown) => Promise<unknown>
  const failing = async (input: unknown) => {
    if (isFailing) throw paymentFailure(kind, 'it fails')
    return call(input)
  }
  const deps = { ...room.deps, provider: { ...room.provider, [operation]: failing } as BillingDeps['provider'] }
  const handlers = paymentsFeature.jobs?.(deps as never) ?? {}
  return {
    deps,
    answer: () => {
      isFailing = false
    },
    run: async (hours: number) => {
      for (let minute = 0; minute < hours * 60; minute += 10) {
        await drainJobs({ db: room.db, clock: room.clock, log: room.deps.log, handlers })
        await room.clock.advance(10 * minuteMs)
      }
    },
  }
}

const jobs = ({ db }: Room) => db.selectFrom('jobs').select(['topic', 'status']).where('topic', 'like', 'billing.%').execute()

onBothDialects('an internal error that the provider saved for a key', (fresh) => {
  test.each(['failed', 'failed after'] as const)('delays no invoice of modules: %s', async (fault) => {
    const room = await aBillingWorld(await fresh())
    await room.developer()
    await room.module('attendance', 500)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    room.double.fault('finishInvoice', fault)
    expect(await room.run('billing-usage-aggregation')).toContain('1 billed, 0 unbilled')
    expect(room.money()[0]).toBe(500)
  })

  test('an invoice that was refused is charged by the next run, once an operator has corrected it', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    room.double.fault('finishInvoice', 'refused')
    expect(await room.run('billing-usage-aggregation')).toContain('0 billed, 1 unbilled')
    expect([room.money()[0], await room.alerts()]).toEqual([0, ['billing_incomplete open']])
    await room.clock.advance(10 * minuteMs)
    expect(await room.run('billing-usage-aggregation')).toContain('1 billed, 0 unbilled')
    expect([room.money()[0], await room.alerts()]).toEqual([500, ['billing_incomplete closed']])
  })

  test('delays no invoice of late usage', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.install()
    await room.active(3)
    await room.until('2026-04-02T00:00:00.000Z')
    const [live] = room.double.liveSubscriptions(room.customer.id)
    await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
    room.double.fault('finishInvoice', 'failed')
    await room.deliver()
    await room.clock.advance(2 * 60 * 60_000)
    await room.runJobs()
    expect(room.money()).toEqual([450, 315, 135])
  })

  test('leaves no former price open', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const former = (await room.item()).paymentPriceId
    await room.db.updateTable('marketplace_items').set({ price_cents: 2000 }).execute()
    room.double.fault('deactivatePrice', 'failed')
    await room.jobs['payments.price']?.({ itemId: 'item_1', former }, { last: false })
    expect(room.double.prices.get(former ?? '')?.active).toBe(false)
  })
})

onBothDialects('while the provider does not answer for hours', (fresh) => {
  test.each(['unreachable', 'failed', 'denied'] as const)('usage of an item that was uninstalled waits and is billed: %s', async (kind) => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.install()
    await room.active(3)
    await room.uninstall()
    const queue = queueOf(room, { operation: 'reportUsage', kind })
    await queue.run(20)
    expect(await jobs(room)).toEqual([{ topic: 'billing.report', status: 'queued' }])
    queue.answer()
    await queue.run(1)
    expect(await jobs(room)).toEqual([])
    await room.clock.advance(40 * 24 * 60 * minuteMs)
    expect(room.money()).toEqual([450, 315, 135])
  })

  test.each(['unreachable', 'denied'] as const)('modules wait and are billed on the same day: %s', async (kind) => {
    const room = await aBillingWorld(await fresh())
    await room.developer()
    await room.module('attendance', 500)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    const queue = queueOf(room, { operation: 'createInvoice', kind })
    expect(await room.run('billing-usage-aggregation', queue.deps)).toContain('1 module month not billed')
    await queue.run(3)
    expect([room.money()[0], await jobs(room)]).toEqual([0, [{ topic: 'billing.unbilled-modules', status: 'queued' }]])
    queue.answer()
    await queue.run(1)
    expect([room.money()[0], await jobs(room), await room.alerts()]).toEqual([500, [], ['billing_incomplete closed']])
  })

  test.each(['unreachable', 'denied'] as const)('the comparison waits, and ends when it answers: %s', async (kind) => {
    const room = await aBillingWorld(await fresh())
    const queue = queueOf(room, { operation: 'getCustomer', kind })
    expect(await room.run('billing-reconcile', queue.deps)).toContain('it fails')
    await queue.run(20)
    expect([await jobs(room), await room.alerts()]).toEqual([[{ topic: 'billing.comparison', status: 'queued' }], []])
    queue.answer()
    await queue.run(1)
    expect([await jobs(room), await room.alerts()]).toEqual([[], []])
  })

  test('a refusal is an answer: the job becomes a dead letter', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.install()
    await room.active(3)
    await room.uninstall()
    await queueOf(room, { operation: 'reportUsage', kind: 'invalid' }).run(20)
    expect(await jobs(room)).toEqual([{ topic: 'billing.report', status: 'dead' }])
  })
})
