import { expect, test } from 'vitest'
import { enqueueDelivery } from '../../../src/daemon/alerts/make-deliveries.ts'
import { receiveEvent } from '../../../src/daemon/payments/events.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { silentLogger } from '../../../src/node/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aPaymentsWorld } from '../../support/payments/payments-world.ts'
import { signedEvent } from '../../support/payments/provider-double.ts'

onBothDialects('an alert behind events of the provider', (fresh) => {
  test('is delivered while none of them is done', async () => {
    const db = await fresh()
    const { clock, deps } = await aPaymentsWorld(db)
    for (let nth = 0; nth < 20; nth++) {
      const event = { id: `evt_${nth}`, type: 'customer.subscription.updated', objectKind: 'subscription', objectId: `sub_${nth}` }
      const { body, signature } = signedEvent({ ...event, createdAt: clock.now().toISOString() }, { now: clock.now() })
      await receiveEvent(deps, { raw: { readBody: async () => body }, signature })
    }
    await clock.advance(1000)
    await db.transaction().execute((tx) => enqueueDelivery(tx, clock, { id: 'msg_1', channel: 'mail', target: 'ops@example.org' }))
    let deliver = () => {}
    const delivered = new Promise<void>((resolve) => {
      deliver = resolve
    })
    let done = 0
    const handlers = {
      'alerts.deliver': async () => deliver(),
      'payments.event': async () => {
        await delivered
        done++
      },
    }
    const drained = drainJobs({ db, clock, log: silentLogger(), handlers })
    await delivered
    expect(done).toBe(0)
    await drained
    expect(done).toBe(20)
  })
})
