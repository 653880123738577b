import { expect, test } from 'vitest'
import { noProvider, paymentsFeature } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

onBothDialects('an uninstall while no provider is set', (fresh) => {
  test('waits for the key without an attempt, and then ends the subscription', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.uninstall()
    const job = await room.db.selectFrom('outbox').selectAll().where('topic', '=', 'payments.cancellation').executeTakeFirstOrThrow()
    const off = paymentsFeature.jobs?.({ ...room.deps, provider: noProvider })
    await expect(off?.[job.topic]?.(JSON.parse(job.payload), { last: true })).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.runJobs()
    expect(room.double.liveSubscriptions(room.customer.id).map(({ cancelAtPeriodEnd }) => cancelAtPeriodEnd)).toEqual([true])
  })
})
