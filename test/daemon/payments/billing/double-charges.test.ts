import { expect, test } from 'vitest'
import { paymentsFeature, paymentsOfMarketplace } from '../../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { mortal } from '../../../support/dying.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'

const hourMs = 60 * 60_000
const dayMs = 24 * hourMs
const key = 'marketplace-monthly-billing'

onBothDialects('a tenant is never charged twice', (fresh) => {
  test('two late reports of one subscription are claimed once, also by two replicas', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(4)
    await room.clock.advance(2 * dayMs)
    // The provider is away while the item is cancelled: the report of this day is not sent.
    await room.uninstall()
    room.double.fault('reportUsage', 'lost')
    await room.runJobs().catch(() => undefined)
    await room.runJobs()
    await room.clock.advance(hourMs)
    await room.install()
    await room.active(6)
    await room.clock.advance(Date.parse('2026-04-08T00:00:00.000Z') - room.clock.now().getTime())
    await Promise.all([room.run(key), room.run(key, room.replica())])
    await room.run(key)
    expect((await room.reports()).map(({ quantity }) => quantity)).toEqual([4, 2])
    await room.until('2026-05-06T00:00:00.000Z')
    expect(room.money()).toEqual([900, 630, 270])
  })

  test('a user of two subscriptions of one item in a month counts once', async () => {
    const room = await aBillingWorld(await fresh(), { ...perUser, start: '2026-04-02T08:00:00.000Z' })
    await room.install()
    await room.active(5)
    await room.until('2026-04-03T10:00:00.000Z')
    await room.uninstall()
    await room.runJobs()
    await room.until('2026-04-20T00:00:00.000Z')
    expect(room.money()[0]).toBe(750)
    const { paymentSubscriptionId } = await room.install()
    expect((await room.rows()).map(({ payment_subscription_id: id }) => id)).toEqual([paymentSubscriptionId])
    // Three of the five come again, and two others.
    await room.active(3)
    await room.active(2, 10)
    await room.until('2026-05-06T00:00:00.000Z')
    expect(room.money()[0]).toBe(750 + 300)
    await room.active(3)
    await room.until('2026-06-06T00:00:00.000Z')
    expect(room.money()[0]).toBe(750 + 300 + 450)
  })

  test('a subscription that is deleted between charge and installation installs nothing, and is refunded', async () => {
    const room = await aBillingWorld(await fresh())
    room.faults.install = 1
    await room.install().catch(() => undefined)
    const [charged] = room.double.liveSubscriptions(room.customer.id)
    expect(room.money()).toEqual([1000, 700, 300])
    await room.provider.cancelSubscription({ key: 'by hand', id: charged?.id as string })
    await room.deliver()
    for (let nth = 0; nth < 3; nth++) {
      await room.clock.advance(2 * 60_000)
      await room.deliver()
    }
    expect([room.money(), await room.rows()]).toEqual([[0, 0, 0], []])
  })

  test('a subscription that the provider does not know takes nothing away', async () => {
    const room = await aBillingWorld(await fresh())
    const { paymentSubscriptionId: id } = await room.install()
    await room.deliver()
    room.double.subscriptions.delete(id as string)
    const createdAt = room.clock.now().toISOString()
    await room.send({
      ...{ id: 'evt_x', type: 'customer.subscription.updated', objectKind: 'subscription' },
      objectId: id as string,
      createdAt,
    })
    await room.runJobs()
    expect((await room.rows())[0]?.status).toBe('active')
    const { outcome } = await room.db.selectFrom('payment_events').select('outcome').where('id', '=', 'evt_x').executeTakeFirstOrThrow()
    expect(outcome).toBe('the provider does not know the subscription')
  })

  test('an unpaid subscription that is taken back stays unpaid', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-12T00:00:00.000Z')
    expect((await room.rows())[0]?.payment_status).toBe('past_due')
    await room.uninstall()
    await room.runJobs()
    await room.clock.advance(hourMs)
    await room.install()
    expect((await room.rows())[0]).toMatchObject({ status: 'active', payment_status: 'past_due' })
  })

  test('a cancellation follows its subscription after its customer went to another tenant and the item is installed again', async () => {
    const room = await aBillingWorld(await fresh())
    const first = await room.install()
    await room.uninstall()
    const other = await room.provider.createCustomer({ key: 'c2', name: 'Acme', email: 'b@acme.example', metadata: {} })
    await room.db.updateTable('tenants').set({ payment_customer_id: other.id }).execute()
    // With its former customer the tenant would resume the subscription.
    const acme = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
    const beta = { ...acme, id: 'ten_beta', slug: 'beta', chat_domain: 'beta.example', payment_customer_id: room.customer.id }
    await room.db.insertInto('tenants').values(beta).execute()
    const second = await room.install()
    expect(second.paymentSubscriptionId).not.toBe(first.paymentSubscriptionId)
    await room.clock.advance(5 * 60_000)
    await room.runJobs()
    await room.clock.advance(40 * dayMs)
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other.id)]).toEqual([1000, 2000])
    expect(room.double.liveSubscriptions(room.customer.id)).toEqual([])
  })

  test('the state of a subscription that is read last wins, whichever event made the platform read it', async () => {
    const room = await aBillingWorld(await fresh())
    const { paymentSubscriptionId: id } = await room.install()
    await room.deliver()
    room.double.refuseCard(room.customer.id)
    await room.clock.advance(32 * dayMs)
    for (const event of room.double.events()) await room.send(event)
    // Only the queue of the subscription applies it: no two workers read and store it at the same time.
    const getSubscription = async (one: string) => {
      expect(running).toBe(`payments:${one}`)
      return room.provider.getSubscription(one)
    }
    let running: string | null = null
    const jobs = paymentsFeature.jobs?.({ ...room.deps, provider: { ...room.provider, getSubscription } }) ?? {}
    for (;;) {
      const job = await room.db.selectFrom('jobs').selectAll().where('topic', '=', 'payments.event').orderBy('id').executeTakeFirst()
      if (!job) break
      await room.db.deleteFrom('jobs').where('id', '=', job.id).execute()
      running = job.queue
      await jobs[job.topic]?.(JSON.parse(job.payload), { last: false })
    }
    expect((await room.rows())[0]).toMatchObject({ payment_subscription_id: id, payment_status: 'past_due' })
  })

  test('a monthly job that finds the provider away is repeated before the invoice', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(7)
    await room.clock.advance(Date.parse('2026-04-01T06:30:00.000Z') - room.clock.now().getTime())
    room.double.fault('reportUsage', 'lost')
    expect(await room.run(key)).toContain('1 report of usage was not sent')
    await room.clock.advance(hourMs)
    await room.runJobs()
    await room.clock.advance(7 * dayMs)
    expect([room.money(), await room.alerts()]).toEqual([[1050, 735, 315], []])
  })

  test('killed before or after any statement of a paid installation: one charge and one row, or neither', async () => {
    for (let steps = 0; ; steps++) {
      const room = await aBillingWorld(await fresh())
      const life = mortal(room.db, steps)
      const dying = paymentsOfMarketplace({ ...room.deps, db: life.db })
      await dying.installPaid(room.actor, await room.item()).catch(() => undefined)
      const isOver = !life.isDead()
      const begun = (await room.attempts()).length
      await room.clock.advance(10 * 60_000)
      await room.runJobs()
      const state = [room.money(), (await room.rows()).length, room.double.liveSubscriptions(room.customer.id).length]
      expect([steps, state]).toEqual([steps, begun === 0 ? [[0, 0, 0], 0, 0] : [[1000, 700, 300], 1, 1]])
      if (isOver) break
      expect(steps).toBeLessThan(120)
    }
  })

  test('a charge whose response was lost, and a daemon that was away for longer than keys live: refunded', async () => {
    const room = await aBillingWorld(await fresh())
    room.double.fault('createSubscription', 'answer lost')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    expect(room.money()).toEqual([1000, 700, 300])
    await room.clock.advance(30 * hourMs)
    await room.deliver()
    expect([room.money(), await room.rows(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[0, 0, 0], [], []])
    await room.install()
    expect([room.money(), (await room.rows()).length]).toEqual([[1000, 700, 300], 1])
  })
})
