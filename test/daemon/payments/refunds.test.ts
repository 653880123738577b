import { expect, test } from 'vitest'
import type { Db } from '../../../src/daemon/db/index.ts'
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
})

onBothDialects('a refund of an installation', (fresh) => {
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
    expect(await room.alerts()).toEqual(['payment_refunded open'])
  })
})
