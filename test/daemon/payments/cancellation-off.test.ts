import { expect, test } from 'vitest'
import { noProvider, paymentsFeature } from '../../../src/daemon/payments/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

onBothDialects('while no provider is set', (fresh) => {
  type Room = Awaited<ReturnType<typeof aBillingWorld>>
  const hours = async ({ db, clock, deps, jobs }: Room, count: number) => {
    const handlers = { ...jobs, ...paymentsFeature.jobs?.({ ...deps, provider: noProvider } as never) }
    for (let minute = 0; minute < count * 60; minute += 10) {
      await drainJobs({ db, clock, log: deps.log, handlers })
      await clock.advance(10 * 60_000)
    }
  }
  const waiting = async ({ db }: Room) =>
    (await db.selectFrom('jobs').selectAll().where('topic', 'like', 'payments.%').execute()).map(
      ({ topic, status, attempts, last_error }) => [topic, status, attempts, last_error],
    )
  const reason = 'No payment provider is configured. fix: set TENANTRY_STRIPE_SECRET_KEY'

  test('an uninstall waits for the key without an attempt, and then ends the subscription', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.uninstall()
    await hours(room, 20)
    expect(await waiting(room)).toContainEqual(['payments.cancellation', 'queued', 0, reason])
    await room.runJobs()
    expect(room.double.liveSubscriptions(room.customer.id).map(({ cancelAtPeriodEnd }) => cancelAtPeriodEnd)).toEqual([true])
  })

  test('an event waits for the key, and is applied then: the item does not stay installed without its subscription', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.deliver()
    const [live] = room.double.liveSubscriptions(room.customer.id)
    await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
    for (const event of room.double.events().filter(({ type }) => type === 'customer.subscription.deleted')) await room.send(event)
    await hours(room, 20)
    expect(await waiting(room)).toEqual([['payments.event', 'queued', 0, reason]])
    await room.runJobs()
    expect((await room.rows()).map(({ status }) => status)).toEqual(['cancelled'])
  })
})
