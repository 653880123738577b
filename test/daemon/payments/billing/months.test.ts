import { expect, test } from 'vitest'
import { deleteOldStatements } from '../../../../src/daemon/payments/billing/delete-old-statements.ts'
import { previewBilling } from '../../../../src/daemon/payments/billing/preview.ts'
import { reportUntilEnd } from '../../../../src/daemon/payments/billing/report-usage.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, perUser } from '../../../support/payments/billing-world.ts'
import { dyingAfter } from '../../../support/payments/payments-world.ts'
import { readyAccount } from '../../../support/payments/provider-double.ts'

const dayMs = 24 * 60 * 60_000
const key = 'marketplace-monthly-billing'

onBothDialects('a month of active users', (fresh) => {
  test.each([
    ['1st', '2026-03-01T08:00:00.000Z'],
    ['2nd', '2026-03-02T08:00:00.000Z'],
    ['5th, before the invoices', '2026-03-05T11:00:00.000Z'],
    ['5th, after the invoices', '2026-03-05T13:00:00.000Z'],
    ['31st', '2026-03-31T15:00:00.000Z'],
    ['last second', '2026-03-31T23:59:59.000Z'],
  ])('installed on the %s: seven users cost 10.50 EUR in the invoice of April 5, of which the vendor gets 70 %%', async (_, start) => {
    const room = await aBillingWorld(await fresh(), { ...perUser, start })
    await room.install()
    await room.active(7)
    const { previews } = await previewBilling(room.deps, { limit: 50 })
    expect(previews[0]).toMatchObject({ month: '2026-03', totalCents: 1050, charges: [{ kind: 'users', quantity: 7, cents: 1050 }] })
    await room.until('2026-04-05T11:59:00.000Z')
    expect(room.money()).toEqual([0, 0, 0])
    await room.until('2026-04-06T00:00:00.000Z')
    expect(room.money()).toEqual([1050, 735, 315])
    await room.until('2026-05-06T00:00:00.000Z')
    expect([room.money(), await room.alerts()]).toEqual([[1050, 735, 315], []])
    expect((await previewBilling(room.deps, { month: '2026-03', limit: 50 })).previews[0]?.totalCents).toBe(1050)
  })

  test('users count once a month, and only from the day of the installation', async () => {
    const room = await aBillingWorld(await fresh(), { ...perUser, start: '2026-03-02T08:00:00.000Z' })
    await room.active(3)
    await room.clock.advance(8 * dayMs)
    await room.install()
    await room.active(2, 10)
    await room.clock.advance(3 * dayMs)
    await room.active(2, 10)
    await room.active(1, 0)
    await room.until('2026-04-06T00:00:00.000Z')
    expect(room.money()[0]).toBe(3 * 150)
    await room.active(1, 0)
    await room.until('2026-05-06T00:00:00.000Z')
    expect(room.money()[0]).toBe(4 * 150)
  })

  test('is counted at its end if the item is installed again while its uninstallation is counted', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.uninstall()
    let isInstalled = false
    const transaction = () => ({
      execute: async (work: Parameters<ReturnType<typeof room.db.transaction>['execute']>[0]) => {
        if (!isInstalled) {
          isInstalled = true
          await room.clock.advance(1000)
          await room.install()
        }
        return room.db.transaction().execute(work)
      },
    })
    const bound = (target: object, key: PropertyKey) => {
      const value = Reflect.get(target, key, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    }
    const db = new Proxy(room.db, { get: (target, key) => (key === 'transaction' ? transaction : bound(target, key)) })
    const [row] = await room.rows()
    await reportUntilEnd({ ...room.deps, db }, { id: row?.payment_subscription_id as string })
    await room.clock.advance(dayMs)
    await room.active(2, 3)
    await room.until('2026-04-06T00:00:00.000Z')
    expect([isInstalled, room.money()[0]]).toEqual([true, 5 * 150])
  })

  test('statements and usage are deleted after ten years, unpaid statements never', async () => {
    const { db, deps } = await aBillingWorld(await fresh(), { ...perUser, start: '2036-03-02T08:00:00.000Z' })
    const cents = { gross_cents: 100, fee_cents: 30, net_cents: 70, held_cents: 0, deducted_cents: 0, transfer_attempt: 0, currency: 'eur' }
    const nothing = { vendor_id: null, reason: null, destination: null, transfer_id: null, created_at: '2026-03-01T00:00:00.000Z' }
    const statement = (month: string, state: 'transferred' | 'waiting') => ({
      ...{ id: `${month}-${state}`, developer_id: `dev-${state}`, month, state, ...cents, ...nothing },
    })
    await db
      .insertInto('billing_payouts')
      .values([statement('2026-02', 'transferred'), statement('2026-02', 'waiting'), statement('2026-03', 'transferred')])
      .execute()
    const signal = new AbortController().signal
    const [first, second] = [await deleteOldStatements(deps, signal), await deleteOldStatements(deps, signal)]
    expect([first, second]).toEqual(['1 old row of statements', '0 old rows of statements'])
    const left = await db.selectFrom('billing_payouts').select('id').orderBy('id').execute()
    expect(left.map(({ id }) => id)).toEqual(['2026-02-waiting', '2026-03-transferred'])
  })

  test('the job run five times, by two replicas and killed between any two calls bills once', async () => {
    for (let kill = 1; ; kill++) {
      const room = await aBillingWorld(await fresh(), perUser)
      await room.install()
      await room.active(7)
      await room.clock.advance(Date.parse('2026-04-01T06:30:00.000Z') - room.clock.now().getTime())
      const dying = { ...room.replica(), clock: dyingAfter(room.clock, kill) }
      const isOver = await room.run(key, dying).then(
        () => true,
        () => false,
      )
      await Promise.all([room.run(key), room.run(key, room.replica()), room.run(key)])
      for (let nth = 0; nth < 5; nth++) await room.run(key)
      await room.clock.advance(7 * dayMs)
      expect([kill, room.money(), (await room.reports()).length]).toEqual([kill, [1050, 735, 315], 1])
      if (isOver) break
      expect(kill).toBeLessThan(20)
    }
  })

  test.each(['lost', 'answer lost', 'late', 'twice', 'failed', 'failed after'] as const)(
    'a report that is %s is billed once',
    async (fault) => {
      const room = await aBillingWorld(await fresh(), perUser)
      await room.install()
      await room.active(7)
      await room.clock.advance(Date.parse('2026-04-01T06:30:00.000Z') - room.clock.now().getTime())
      room.double.fault('reportUsage', fault)
      await room.run(key)
      await room.clock.advance(2 * dayMs)
      room.double.deliverLate()
      await room.run(key)
      await room.clock.advance(7 * dayMs)
      expect(room.money()).toEqual([1050, 735, 315])
    },
  )

  test('a daemon that was away for ten days over the 1st charges the month by an item of the next invoice, with an alert', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(7)
    await room.until('2026-04-08T00:00:00.000Z', (at) => at < '2026-03-29' || at >= '2026-04-08')
    expect([room.money(), await room.alerts()]).toEqual([[0, 0, 0], ['billing_incomplete open']])
    for (let nth = 0; nth < 3; nth++) await room.run(key)
    await room.until('2026-05-06T00:00:00.000Z')
    expect([room.money(), await room.alerts()]).toEqual([[1050, 735, 315], ['billing_incomplete open']])
  })

  test.each(['answer lost', 'failed after', 'failed', 'lost', 'twice', 'late'] as const)(
    'late usage whose item is %s is charged once',
    async (fault) => {
      const room = await aBillingWorld(await fresh(), perUser)
      await room.install()
      await room.active(7)
      await room.clock.advance(Date.parse('2026-04-08T00:00:00.000Z') - room.clock.now().getTime())
      room.double.fault('createInvoiceItem', fault)
      await room.run(key)
      room.double.deliverLate()
      // The provider forgets keys after a day.
      await room.clock.advance(2 * dayMs)
      await room.run(key)
      await room.run(key)
      await room.until('2026-05-06T00:00:00.000Z')
      expect(room.money()).toEqual([1050, 735, 315])
    },
  )

  test.each([
    ['an hour', 60 * 60_000],
    ['a day', dayMs],
    ['before its end', 10 * dayMs],
  ])('cancelled and installed again after %s: users of the gap alone do not count, and nobody counts twice', async (_, gapMs) => {
    const room = await aBillingWorld(await fresh(), { ...perUser, start: '2026-03-10T10:00:00.000Z' })
    await room.install()
    await room.active(4)
    await room.clock.advance(2 * dayMs)
    await room.uninstall()
    await room.runJobs()
    if (gapMs > 2 * dayMs) {
      await room.clock.advance(2 * dayMs)
      await room.active(5, 100)
      await room.clock.advance(gapMs - 2 * dayMs)
    } else await room.clock.advance(gapMs)
    await room.install()
    await room.active(6)
    await room.until('2026-04-06T00:00:00.000Z')
    expect([room.money(), await room.alerts()]).toEqual([[900, 630, 270], []])
  })

  test.each([
    ['in the middle of the month', '2026-03-20T10:00:00.000Z', 5],
    ['on the last day', '2026-03-31T22:00:00.000Z', 5],
    ['on the 3rd, two days before its last invoice', '2026-04-03T10:00:00.000Z', 5 + 5],
    ['on the 1st, before the job', '2026-04-01T03:00:00.000Z', 5 + 5],
  ])('cancelled %s: the users so far are on the last invoice', async (_, at, users) => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(5)
    await room.until(at)
    if (at > '2026-04-01') await room.active(5)
    await room.uninstall()
    await room.runJobs()
    await room.active(50, 100)
    await room.until('2026-05-06T00:00:00.000Z')
    expect([room.money(), await room.alerts()]).toEqual([[users * 150, users * 105, users * 45], []])
    expect(room.double.liveSubscriptions(room.customer.id)).toEqual([])
  })

  test('cancelled and installed again after a period: a new subscription, each month once', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(5)
    await room.until('2026-03-20T00:00:00.000Z')
    await room.uninstall()
    await room.until('2026-04-20T00:00:00.000Z')
    expect(room.money()[0]).toBe(750)
    await room.install()
    await room.active(2)
    await room.until('2026-05-06T00:00:00.000Z')
    expect(room.money()[0]).toBe(750 + 300)
  })

  test('a subscription that somebody deletes at the provider: its usage is charged by an invoice of its own, with an alert', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    const { paymentSubscriptionId } = await room.install()
    await room.active(5)
    await room.until('2026-03-20T00:00:00.000Z')
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    await room.deliver()
    await room.clock.advance(2 * 60 * 60_000)
    await room.runJobs()
    expect([room.money()[0], (await room.rows())[0]?.status, await room.alerts()]).toEqual([750, 'cancelled', ['billing_incomplete open']])
    await room.until('2026-05-06T00:00:00.000Z')
    expect(room.money()).toEqual([750, 525, 225])
  })

  test('usage of a deleted subscription whose vendor cannot receive transfers is charged, and the platform keeps it', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    const { paymentSubscriptionId } = await room.install()
    await room.active(5)
    await room.until('2026-03-20T00:00:00.000Z')
    room.double.setAccount(room.account.id, { transfersEnabled: false })
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    await room.deliver()
    await room.clock.advance(2 * 60 * 60_000)
    await room.runJobs()
    expect([room.money(), await room.alerts()]).toEqual([
      [750, 0, 750],
      ['vendor_restricted open', 'billing_incomplete open'],
    ])
  })

  test('an invoice of late usage whose vendor stops receiving transfers between two tries is made at the next one', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    const { paymentSubscriptionId } = await room.install()
    await room.active(5)
    await room.until('2026-03-20T00:00:00.000Z')
    // The account reads as able for the last time: the provider refuses the invoice, and repeats that for its key.
    const { getAccount } = room.provider
    Object.assign(room.provider, { getAccount: async (id: string) => ({ ...readyAccount, id }) })
    room.double.setAccount(room.account.id, { transfersEnabled: false })
    await room.provider.cancelSubscription({ key: 'by hand', id: paymentSubscriptionId as string })
    await room.deliver()
    await room.clock.advance(2 * 60 * 60_000)
    await expect(room.runJobs()).rejects.toThrow('was not sent')
    Object.assign(room.provider, { getAccount })
    await room.jobs['billing.report']?.({ id: paymentSubscriptionId }, { last: false })
    expect(room.money()).toEqual([750, 0, 750])
  })

  test('late usage of a subscription that ends while it is charged gets an invoice of its own at the next try', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    const { paymentSubscriptionId: id } = await room.install()
    await room.active(5)
    // The daemon was away over the invoice of March, and its last read of the subscription is from before the end.
    await room.until('2026-04-10T00:00:00.000Z', () => false)
    const live = await room.provider.getSubscription(id as string)
    await room.provider.cancelSubscription({ key: 'by hand', id: id as string })
    const { getSubscription } = room.provider
    Object.assign(room.provider, { getSubscription: async () => live })
    expect(await room.run(key)).toContain('1 report of usage was not sent')
    Object.assign(room.provider, { getSubscription })
    expect(await room.run(key)).toContain('1 report sent')
    expect(room.money()).toEqual([750, 525, 225])
  })

  test('a refused card: nothing is taken away, a mail and an alert; the payment pays the vendor', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    await room.install()
    await room.active(4)
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-06T00:00:00.000Z')
    expect([room.money(), await room.alerts()]).toEqual([[0, 0, 0], ['payment_failed open']])
    expect((await room.rows())[0]).toMatchObject({ status: 'active', payment_status: 'past_due' })
    expect(room.mails.filter(({ subject }) => subject.includes('failed'))).toMatchObject([{ to: 'office@acme.example' }])
    room.double.refuseCard(room.customer.id, false)
    for (const invoice of [...room.double.invoices.values()].filter(({ status }) => status === 'open')) room.double.payInvoice(invoice.id)
    await room.deliver()
    expect([room.money(), await room.alerts()]).toEqual([[600, 420, 180], ['payment_failed closed']])
  })

  test('a vendor whose fee changes gets the new share from the next invoice; a restricted one is still paid', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(10)
    await room.db.updateTable('marketplace_vendors').set({ application_fee_hundredths: 1000 }).execute()
    await room.db.transaction().execute((tx) => room.payments.termsChanged(tx, { vendorId: 'ven_1' }))
    await room.runJobs()
    room.double.setAccount(room.account.id, { pastDue: ['external_account'] })
    await room.deliver()
    await room.until('2026-04-06T00:00:00.000Z')
    expect(room.money()).toEqual([1500, 1350, 150])
  })

  test.each([
    ['1st', '2026-03-01T08:00:00.000Z', '2026-04-01'],
    ['2nd', '2026-03-02T08:00:00.000Z', '2026-04-02'],
    ['5th', '2026-03-05T13:00:00.000Z', '2026-04-05'],
    ['31st', '2026-03-31T15:00:00.000Z', '2026-04-30'],
  ])(
    'a price per month, installed on the %s: 10 EUR at once and 10 EUR a month later, also for a daemon that was away',
    async (_, start, next) => {
      const room = await aBillingWorld(await fresh(), { start })
      await room.install()
      expect(room.money()).toEqual([1000, 700, 300])
      await room.until(`${next}T07:00:00.000Z`, (at) => at < '2026-03-29' || at >= '2026-04-08')
      expect(room.money()).toEqual([1000, 700, 300])
      await room.until(`${next}T23:00:00.000Z`, (at) => at < '2026-03-29' || at >= '2026-04-08')
      await room.until('2026-04-30T23:59:00.000Z')
      expect([room.money(), await room.alerts(), (await room.rows())[0]?.payment_status]).toEqual([[2000, 1400, 600], [], 'ok'])
    },
  )

  test('a restricted vendor sells nothing new, and its live subscription is paid on', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    room.double.setAccount(room.account.id, { pastDue: ['external_account'] })
    await room.deliver()
    await room.uninstall()
    await expect(room.install()).rejects.toMatchObject({ code: 'VENDOR_INACTIVE' })
    room.double.setAccount(room.account.id, { pastDue: [] })
    await room.deliver()
    await room.install()
    room.double.setAccount(room.account.id, { pastDue: ['external_account'] })
    await room.until('2026-04-12T00:00:00.000Z')
    expect(room.money()).toEqual([2000, 1400, 600])
  })

  test('an item that gets another vendor pays the former one for what it had, and the new one from then on', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const account = await room.provider.createAccount({ key: 'b', name: 'B', email: 'b@b.example', country: 'DE', metadata: {} })
    room.double.setAccount(account.id, readyAccount)
    const { id: _, ...vendor } = await room.db.selectFrom('marketplace_vendors').selectAll().executeTakeFirstOrThrow()
    await room.db
      .insertInto('marketplace_vendors')
      .values({ ...vendor, id: 'ven_2', payment_account_id: account.id, application_fee_hundredths: 1250 })
      .execute()
    await room.db.updateTable('marketplace_items').set({ vendor_id: 'ven_2' }).execute()
    await room.db.transaction().execute((tx) => room.payments.termsChanged(tx, { itemId: 'item_1' }))
    await room.until('2026-04-12T00:00:00.000Z')
    expect([...room.money(), room.double.receivedBy(account.id)]).toEqual([2000, 700, 300 + 125, 875])
  })

  test('a price per month is charged at each begin of a period, as the preview says', async () => {
    const room = await aBillingWorld(await fresh(), { priceCents: 999, start: '2026-01-31T10:00:00.000Z' })
    await room.install()
    await room.active(3)
    for (const [month, paid] of [
      ['2026-02', 2],
      ['2026-03', 3],
      ['2026-04', 4],
    ] as const) {
      await room.until(`${month}-25T00:00:00.000Z`)
      expect((await previewBilling(room.deps, { limit: 50 })).previews[0]?.totalCents).toBe(999)
      await room.until(new Date(Date.UTC(2026, Number(month.slice(5)), 1, 12)).toISOString())
      expect(room.money()[0]).toBe(999 * paid)
    }
  })
})
