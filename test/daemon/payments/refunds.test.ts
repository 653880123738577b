import { expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
import { paymentsFeature } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'

const dayMs = 24 * 60 * 60_000

async function refundsIn(db: Db) {
  const rows = await db.selectFrom('audit').select(['subject', 'data']).where('action', '=', 'payment.refunded').orderBy('seq').execute()
  return rows.map(({ subject, data }) => ({ subject, ...(JSON.parse(data) as { refundedCents: number; itemName: string }) }))
}

onBothDialects('a refund that an operator makes at the provider', (fresh) => {
  test('of modules is audited once for each part and deducted from what the developer is owed', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-04T00:00:00.000Z')
    expect(room.money()).toEqual([500, 350, 150])
    const [march] = room.double.invoices.keys()
    room.double.refundInvoice(march as string, 100)
    await room.deliver()
    expect(await refundsIn(room.db)).toMatchObject([{ subject: 'acme', refundedCents: 100, itemName: 'modules' }])
    room.double.refundInvoice(march as string, 150)
    await room.deliver()
    const refunded = room.double.events().filter(({ type }) => type === 'charge.refunded')
    for (const event of refunded) await room.send({ ...event, id: `${event.id}_again` })
    await room.runJobs()
    expect((await refundsIn(room.db)).map(({ refundedCents }) => refundedCents)).toEqual([100, 150])
    expect((await room.usage())[0]).toMatchObject({ state: 'paid', refunded_cents: 250, counted_cents: 500 })
    await room.until('2026-05-04T00:00:00.000Z')
    // 5.00 + 5.00 EUR less 2.50 EUR: 70 % of 7.50 EUR.
    expect([room.money(), (await room.payouts())[1]]).toMatchObject([
      [750, 525, 225],
      { gross_cents: 250, net_cents: 175, deducted_cents: 250 },
    ])
  })

  test('is not lost to a run that read the invoice before it', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    let isRefunded = false
    const getInvoice: typeof room.provider.getInvoice = async (id) => {
      const found = await room.provider.getInvoice(id)
      if (!isRefunded) {
        isRefunded = true
        room.double.refundInvoice(id, 500)
        await room.deliver()
      }
      return found
    }
    await room.run('billing-developer-payouts', { ...room.deps, provider: { ...room.provider, getInvoice } })
    await room.clock.advance(60_000)
    await room.runJobs()
    expect([isRefunded, (await room.usage())[0]?.state]).toEqual([true, 'refunded'])
  })

  test('of an item is audited with its name, and takes nothing away', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const [invoice] = room.double.invoices.keys()
    room.double.refundInvoice(invoice as string)
    await room.deliver()
    expect([await refundsIn(room.db), (await room.rows())[0]?.status]).toMatchObject([
      [{ subject: 'acme', refundedCents: 1000, itemName: 'Visits' }],
      'active',
    ])
  })
})

onBothDialects('a refund that the bank of the tenant refuses', (fresh) => {
  test.each([
    ['before the statement', { refundedAt: '2026-04-02', failedAt: '2026-04-02T12:00:00.000Z', cents: 500 }, [0, 0, 0, 0]],
    ['after its transfer', { refundedAt: '2026-04-10', failedAt: '2026-04-20T00:00:00.000Z', cents: 500 }, [0, 0, 0, 0]],
    ['after it was deducted', { refundedAt: '2026-04-10', failedAt: '2026-05-10T00:00:00.000Z', cents: 500 }, [0, 500, 0, 0]],
    ['in part, after it was deducted', { refundedAt: '2026-04-10', failedAt: '2026-05-10T00:00:00.000Z', cents: 120 }, [0, 120, 0, 0]],
  ] as const)('of modules deducts nothing in the end: %s', async (_, { refundedAt, failedAt, cents }, deducted) => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until(`${refundedAt}T00:00:00.000Z`)
    const [march] = room.double.invoices.keys()
    room.double.refundInvoice(march as string, cents)
    await room.until(failedAt)
    room.double.failRefund()
    await room.until('2026-07-04T00:00:00.000Z')
    const payouts = await room.payouts()
    expect([room.money(), payouts.map(({ deducted_cents }) => deducted_cents)]).toEqual([[2000, 1400, 600], deducted])
    expect(payouts.reduce((sum, { gross_cents }) => sum + gross_cents, 0)).toBe(2000)
    const unpaid = (await room.usage()).filter(({ state, refunded_cents }) => state !== 'paid' || refunded_cents !== 0)
    expect([unpaid, await room.alerts()]).toEqual([[], ['payment_returned open']])
  })

  test('of an item raises one alert with what to do, however often the event comes', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const [invoice] = room.double.invoices.keys()
    await room.provider.refundInvoice({ key: 'dashboard', invoiceId: invoice as string })
    await room.deliver()
    const refund = room.double.failRefund()
    await room.deliver()
    const alert = await room.db.selectFrom('alerts').selectAll().executeTakeFirstOrThrow()
    expect(alert).toMatchObject({ kind: 'payment_returned', subject: 'acme', title: 'A refund of 10.00 EUR to acme for Visits failed' })
    expect(alert.body).toContain(`${refund} of the invoice ${invoice} (expired_or_canceled_card)`)
    await room.db.updateTable('alerts').set({ status: 'acknowledged', open_key: null }).execute()
    const failed = room.double.events().filter(({ type }) => type === 'refund.failed')
    for (const event of failed) await room.send({ ...event, id: `${event.id}_again` })
    await room.runJobs()
    expect(await room.alerts()).toEqual(['payment_returned acknowledged'])
    // The vendor does not get its share again by itself; another refund is audited.
    expect([room.money(), (await room.rows())[0]?.status]).toEqual([[1000, 0, 1000], 'active'])
    room.double.refundInvoice(invoice as string)
    await room.deliver()
    expect((await refundsIn(room.db)).map(({ refundedCents }) => refundedCents)).toEqual([1000, 1000])
    const audited = await room.db.selectFrom('audit').select('data').where('action', '=', 'payment.refund-failed').execute()
    expect(audited.map(({ data }) => JSON.parse(data))).toMatchObject([{ refundId: refund, failedCents: 1000, itemName: 'Visits' }])
  })

  test('does not count while it has not failed, or if it is of another business', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const [invoice] = room.double.invoices.keys()
    room.double.refundInvoice(invoice as string)
    const at = { objectKind: 'refund', createdAt: room.clock.now().toISOString() }
    const [made] = room.double.refunds.keys()
    await room.send({ ...at, id: 'evt_early', type: 'refund.failed', objectId: made as string })
    await room.send({ ...at, id: 'evt_other', type: 'refund.failed', objectId: 're_unknown' })
    await room.runJobs()
    const outcomes = await room.db.selectFrom('payment_events').select('outcome').orderBy('id').execute()
    expect([outcomes, await room.alerts()]).toEqual([
      [{ outcome: 'nothing to do: the refund is succeeded' }, { outcome: 'nothing to do: the refund is unknown to the provider' }],
      [],
    ])
  })
})

onBothDialects('an uninstallation just before the end of its period', (fresh) => {
  test.each([
    ['minutes', 10 * 60_000],
    ['hours', 5 * 60 * 60_000],
    ['ten days', 10 * dayMs],
  ])('whose job comes %s too late pays no new period', async (_, lateMs) => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.until('2026-04-10T09:59:00.000Z')
    await room.uninstall()
    await room.clock.advance(lateMs)
    for (let nth = 0; nth < 4; nth++) {
      await room.deliver()
      await room.clock.advance(60 * 60_000)
    }
    await room.until('2026-06-12T00:00:00.000Z')
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[1000, 700, 300], []])
    expect(await refundsIn(room.db)).toMatchObject([{ subject: 'acme', refundedCents: 1000, itemName: 'Visits' }])
    expect(await room.alerts()).toEqual([])
  })

  test('whose job comes more than a period too late pays none of the new periods', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.clock.advance(65 * dayMs)
    expect(room.money()).toEqual([3000, 2100, 900])
    for (let nth = 0; nth < 3; nth++) {
      await room.deliver()
      await room.clock.advance(60 * 60_000)
    }
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[1000, 700, 300], []])
    expect(await refundsIn(room.db)).toMatchObject([{ refundedCents: 1000 }, { refundedCents: 1000 }])
  })

  test('and an installation while the new period is paid back leave one of both', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.clock.advance(32 * dayMs)
    let again: Promise<unknown> | undefined
    const listInvoices: typeof room.provider.listInvoices = async (filter) => {
      again ??= room.install().catch(() => undefined)
      await again
      return room.provider.listInvoices(filter)
    }
    const jobs = paymentsFeature.jobs?.({ ...room.deps, provider: { ...room.provider, listInvoices } } as never)
    await jobs?.['payments.cancellation']?.({ id: (await room.rows())[0]?.payment_subscription_id }, { last: false })
    for (let nth = 0; nth < 5; nth++) {
      await room.deliver()
      await room.clock.advance(60 * 60_000)
    }
    const isInstalled = (await room.rows())[0]?.status === 'active'
    expect([room.double.liveSubscriptions(room.customer.id).length, isInstalled]).toEqual([1, true])
    expect(room.money()[0]).toBe(2000)
  })
})

onBothDialects('a refund of an installation', (fresh) => {
  test('whose charge arrives at the provider after its end is made by the event of the charge', async () => {
    const room = await aBillingWorld(await fresh())
    room.double.fault('createSubscription', 'late')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.db.updateTable('tenants').set({ status: 'suspended' }).execute()
    await room.clock.advance(2 * 60_000)
    await room.runJobs()
    expect((await room.attempts()).map(({ outcome }) => outcome)).toEqual(['rolled_back'])
    room.double.deliverLate()
    expect(room.money()[0]).toBe(1000)
    await room.deliver()
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[0, 0, 0], []])
    expect(await refundsIn(room.db)).toMatchObject([{ refundedCents: 1000 }])
    expect(await room.alerts()).toEqual(['installation_failed open'])
  })

  test.each([
    ['the same hour', 60_000],
    ['two days later', 2 * dayMs],
  ])('whose process is killed between provider and database is audited once by its retry, %s', async (_, laterMs) => {
    const room = await aBillingWorld(await fresh())
    room.faults.install = Number.POSITIVE_INFINITY
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.clock.advance(dayMs)
    // The refund is made, and the process ends before its transaction.
    const { refundInvoice } = room.provider
    let isKilled = false
    Object.assign(room.provider, {
      refundInvoice: async (input: Parameters<typeof refundInvoice>[0]) => {
        const done = await refundInvoice(input)
        if (isKilled) return done
        isKilled = true
        throw new Error('killed')
      },
    })
    for (let nth = 0; nth < 5 && !isKilled; nth++) {
      await room.runJobs()
      await room.clock.advance(60_000)
    }
    expect([isKilled, room.money(), await refundsIn(room.db)]).toEqual([true, [0, 0, 0], []])
    // The event of the refund does not take the entry of the installation.
    await room.deliver()
    await room.clock.advance(laterMs)
    await room.deliver()
    for (let nth = 0; nth < 3; nth++) {
      await room.clock.advance(60_000)
      await room.deliver()
    }
    expect([room.money(), await refundsIn(room.db)]).toMatchObject([[0, 0, 0], [{ attemptId: expect.any(String), refundedCents: 1000 }]])
    expect(await room.alerts()).toEqual(['installation_failed open'])
  })
})
