import { expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { assertCurrency, noProvider, paymentsFeature, paymentsOfMarketplace } from '../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'
import { aPaymentsWorld, dyingAfter } from '../../support/payments/payments-world.ts'

const dayMs = 24 * 60 * 60_000

onBothDialects('a paid installation', (fresh) => {
  test('the tenant pays once a month, the vendor gets 70 %', async () => {
    const room = await aPaymentsWorld(await fresh())
    const row = await room.install()
    expect(row).toMatchObject({ status: 'active', priceModel: 'flat-monthly', priceCents: 1000, currency: 'eur' })
    expect(room.money()).toEqual([1000, 700, 300])
    const [live] = room.double.liveSubscriptions(room.customer.id)
    expect(live).toMatchObject({
      id: row.paymentSubscriptionId,
      metadata: { svc_kind: 'item', svc_tenant: 'ten_acme', svc_item: 'item_1' },
    })
    await room.clock.advance(32 * dayMs)
    await room.runJobs()
    expect([room.money(), await room.rows()]).toEqual([[2000, 1400, 600], [expect.anything()]])
  })

  test('a price per active user costs nothing at once and is invoiced on the 5th', async () => {
    const room = await aPaymentsWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150, vendor: false })
    const row = await room.install()
    expect(room.money()).toEqual([0, 0, 0])
    const sub = await room.provider.getSubscription(row.paymentSubscriptionId as string)
    expect(sub).toMatchObject({ currentPeriodEnd: '2026-04-05T12:00:00.000Z', destination: null, applicationFeePercent: null })
  })

  test('ten parallel requests install once', async () => {
    const room = await aPaymentsWorld(await fresh())
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => room.install()))
    await room.clock.advance(10 * 60_000)
    await room.runJobs()
    expect(all.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    for (const one of all) if (one.status === 'rejected') expect(['CONFLICT', 'ALREADY_INSTALLED']).toContain(one.reason.code)
    expect([room.money(), (await room.rows()).length, room.double.liveSubscriptions(room.customer.id).length]).toEqual([
      [1000, 700, 300],
      1,
      1,
    ])
  })

  test('a tenant without payment customer reads whom to ask, and its operator what to run', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await expect(room.install()).rejects.toMatchObject({
      code: 'NO_PAYMENT_CUSTOMER',
      message: expect.stringMatching(/ask the operator of your platform.*`tenantry tenants billing acme --create-customer`/),
    })
  })

  test.each(['before its commit', 'before the activation'])(
    'the job activates what it finishes: the request was killed %s',
    async (when) => {
      const room = await aPaymentsWorld(await fresh())
      if (when === 'before its commit') room.faults.install = 1
      await room.install().catch(() => undefined)
      await room.clock.advance(61_000)
      await room.runJobs()
      const [row] = await room.rows()
      expect([room.money(), room.activated]).toEqual([[1000, 700, 300], [row?.id]])
    },
  )

  test('the job activates nothing that was refused or uninstalled meanwhile', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.clock.advance(61_000)
    await room.runJobs()
    expect(room.activated).toEqual([])
  })

  const operations = ['findPrice', 'createProduct', 'createPrice', 'getPrice', 'listSubscriptions', 'createSubscription', 'getSubscription']
  const faults = ['lost', 'answer lost', 'late', 'twice', 'failed', 'failed after'] as const
  test.each(operations.flatMap((operation) => faults.map((fault) => [operation, fault] as const)))('%s: %s', async (operation, fault) => {
    const room = await aPaymentsWorld(await fresh())
    room.double.fault(operation, fault)
    const answer = await room.install().catch((error) => error)
    if (answer instanceof Error) expect(answer).toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.clock.advance(2 * 60_000)
    room.double.deliverLate()
    await room.runJobs()
    await room.clock.advance(2 * 60_000)
    await room.runJobs()
    expect([room.money(), (await room.rows()).length, room.double.liveSubscriptions(room.customer.id).length]).toEqual([
      [1000, 700, 300],
      1,
      1,
    ])
  })

  test('a late request that arrives after its repetition changes nothing', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.double.fault('createSubscription', 'late')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.clock.advance(2 * 60_000)
    await room.runJobs()
    room.double.deliverLate()
    expect([room.money(), room.double.liveSubscriptions(room.customer.id).length]).toEqual([[1000, 700, 300], 1])
  })

  test('a repeated request continues the attempt', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.double.fault('createSubscription', 'answer lost')
    await expect(room.install()).rejects.toMatchObject({
      ...{ code: 'PAYMENTS_UNAVAILABLE', retryable: true },
      message:
        'The installation waits (The payment provider did not answer). It continues by itself and is not charged twice. fix: repeat the request later',
    })
    await room.clock.advance(2000)
    expect(await room.install()).toMatchObject({ status: 'active' })
    expect([room.money(), (await room.attempts()).length]).toEqual([[1000, 700, 300], 1])
  })

  test('killed at any point: one subscription and one row', async () => {
    for (let kill = 1; ; kill++) {
      const room = await aPaymentsWorld(await fresh())
      const dying = paymentsOfMarketplace({ ...room.deps, clock: dyingAfter(room.clock, kill) })
      const item = await room.item()
      const end = await dying.installPaid(room.actor, item).catch((error) => error)
      if (!(end instanceof Error)) break
      const begun = (await room.attempts()).length
      await room.clock.advance(10 * 60_000)
      await room.runJobs()
      const state = [room.money(), (await room.rows()).length, room.double.liveSubscriptions(room.customer.id).length]
      expect([kill, state]).toEqual([kill, begun === 0 ? [[0, 0, 0], 0, 0] : [[1000, 700, 300], 1, 1]])
      expect(kill).toBeLessThan(60)
    }
  })

  test('a refused card installs and charges nothing, and the next attempt works', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.double.refuseCard(room.customer.id)
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENT_FAILED', status: 402 })
    expect([room.money(), await room.rows()]).toEqual([[0, 0, 0], []])
    room.double.refuseCard(room.customer.id, false)
    await room.install()
    expect([room.money(), (await room.attempts()).map(({ outcome }) => outcome).sort()]).toEqual([
      [1000, 700, 300],
      ['committed', 'rolled_back'],
    ])
  })

  test.each(['createProduct', 'createPrice', 'createSubscription'])(
    '%s rejected by the provider: ended at once, with an alert',
    async (one) => {
      const room = await aPaymentsWorld(await fresh())
      room.double.fault(one, 'refused')
      await expect(room.install()).rejects.toMatchObject({
        code: 'PAYMENTS_UNAVAILABLE',
        retryable: false,
        message: expect.stringMatching(/address of the customer is incomplete.*fix: the operator checks the permissions of the key/),
      })
      const alerts = () => room.db.selectFrom('alerts').select(['kind', 'status', 'subject']).execute()
      expect([room.money(), await room.attempts()]).toMatchObject([[0, 0, 0], [{ outcome: 'rolled_back' }]])
      expect(await alerts()).toEqual([{ kind: 'installation_failed', status: 'open', subject: 'billing' }])
      await room.clock.advance(25 * 60 * 60_000)
      await room.install()
      expect([room.money(), await alerts()]).toMatchObject([[1000, 700, 300], [{ status: 'closed' }]])
    },
  )

  test('a read that the provider rejects before the charge is retried, with an alert', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.double.fault('listSubscriptions', 'refused')
    await expect(room.install()).rejects.toMatchObject({ message: expect.stringMatching(/waits.*fix: the operator/) })
    expect(await room.db.selectFrom('alerts').select('kind').execute()).toEqual([{ kind: 'installation_failed' }])
    await room.clock.advance(61_000)
    await room.runJobs()
    expect(room.money()).toEqual([1000, 700, 300])
  })

  test('what cannot be installed for a day is cancelled and refunded', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.faults.install = Number.POSITIVE_INFINITY
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    expect(room.money()).toEqual([1000, 700, 300])
    for (let hour = 0; hour < 25; hour++) {
      await room.clock.advance(60 * 60_000)
      await room.runJobs()
    }
    expect([room.money(), await room.rows(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[0, 0, 0], [], []])
    expect(await room.attempts()).toMatchObject([{ outcome: 'rolled_back' }])
  })

  test('a process that lost its attempt to another one, which cancelled it, installs nothing', async () => {
    const room = await aPaymentsWorld(await fresh())
    const setStatus = (status: 'active' | 'suspended') => room.db.updateTable('tenants').set({ status }).execute()
    let isHeldUp = false
    const plan: typeof room.deps.bundles.plan = async (...input) => {
      if (!isHeldUp && room.money()[0] === 1000) {
        isHeldUp = true
        await room.clock.advance(6 * 60_000)
        await setStatus('suspended')
        await room.runJobs()
        await setStatus('active')
      }
      return room.deps.bundles.plan(...input)
    }
    const slow = paymentsOfMarketplace({ ...room.deps, bundles: { ...room.deps.bundles, plan } })
    await expect(slow.installPaid(room.actor, await room.item())).rejects.toMatchObject({ code: 'CONFLICT' })
    expect([isHeldUp, room.money(), await room.rows()]).toEqual([true, [0, 0, 0], []])
  })

  test('an unpaid invoice of a cancelled installation is voided', async () => {
    const room = await aPaymentsWorld(await fresh(), { collection: 'invoice' })
    room.faults.install = Number.POSITIVE_INFINITY
    await room.install().catch(() => undefined)
    await room.clock.advance(25 * 60 * 60_000)
    await room.runJobs()
    expect([...room.double.invoices.values()].map(({ status }) => status)).toEqual(['void'])
    expect(room.money()).toEqual([0, 0, 0])
  })

  test.each([
    ['VENDOR_INACTIVE', 409, { vendor: { payment_account_status: 'restricted' } }],
    ['VENDOR_INACTIVE', 409, { vendor: { charges_enabled: 0 } }],
    ['NO_PAYMENT_CUSTOMER', 402, { tenant: { payment_customer_id: null } }],
    ['NO_PAYMENT_CUSTOMER', 402, { tenant: { payment_customer_id: 'cus_unknown' } }],
  ] as const)('%s %i', async (code, status, { vendor, tenant }: { vendor?: object; tenant?: object }) => {
    const room = await aPaymentsWorld(await fresh())
    if (vendor) await room.db.updateTable('marketplace_vendors').set(vendor).execute()
    if (tenant) await room.db.updateTable('tenants').set(tenant).execute()
    await expect(room.install()).rejects.toMatchObject({ code, status })
    expect([room.money(), await room.attempts()]).toEqual([[0, 0, 0], []])
  })

  test.each([
    ['its price rises', 'CONFLICT', { item: { price_cents: 5000, payment_price_id: null } }],
    ['it is withdrawn', 'CONFLICT', { item: { status: 'archived' } }],
    ['its vendor is restricted', 'VENDOR_INACTIVE', { vendor: { payment_account_status: 'restricted' } }],
  ] as const)(
    'an item that waits for the provider is not charged if %s before',
    async (_, code, change: { item?: object; vendor?: object }) => {
      const room = await aPaymentsWorld(await fresh())
      room.double.fault('findPrice', 'lost')
      await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
      if (change.item) await room.db.updateTable('marketplace_items').set(change.item).execute()
      if (change.vendor) await room.db.updateTable('marketplace_vendors').set(change.vendor).execute()
      await room.clock.advance(60_000)
      await expect(room.install()).rejects.toMatchObject({ code })
      expect([room.money(), await room.rows(), await room.attempts()]).toMatchObject([[0, 0, 0], [], [{ outcome: 'rolled_back' }]])
    },
  )

  test('an installation whose charge may have happened goes forward, whatever changes', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.double.fault('createSubscription', 'late')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.db.updateTable('marketplace_vendors').set({ payment_account_status: 'restricted' }).execute()
    await room.clock.advance(60_000)
    await room.install()
    room.double.deliverLate()
    expect([room.money(), room.double.liveSubscriptions(room.customer.id).length]).toEqual([[1000, 700, 300], 1])
  })

  test('without a provider: PAYMENTS_UNAVAILABLE, and an uninstall does not wait', async () => {
    const room = await aPaymentsWorld(await fresh())
    const without = paymentsOfMarketplace({ ...room.deps, provider: noProvider })
    await expect(without.installPaid(room.actor, await room.item())).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE', status: 503 })
  })

  test('the dry run refuses before the charge', async () => {
    const room = await aPaymentsWorld(await fresh())
    room.faults.plan = new Error('not compatible')
    await expect(room.install()).rejects.toThrow('not compatible')
    expect([room.money(), await room.attempts()]).toEqual([[0, 0, 0], []])
  })

  test('an uninstall ends the payment with the period', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.uninstall()
    await room.runJobs()
    expect(await room.rows()).toMatchObject([{ status: 'cancelled', paid_until: '2026-04-10T10:00:00.000Z' }])
    await room.clock.advance(90 * dayMs)
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[1000, 700, 300], []])
  })

  test('the answer of an uninstall names the end of the period, unless the platform only knows one that has passed', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    expect(await room.uninstall()).toBe('2026-04-10T10:00:00.000Z')
    await room.runJobs()
    await room.install()
    await room.clock.advance(32 * dayMs)
    expect(await room.uninstall()).toBeNull()
    await room.install()
    await room.deliver()
    expect(await room.uninstall()).toBe('2026-05-10T10:00:00.000Z')
  })

  test.each([
    ['an hour', 60 * 60_000, true, 1000, 1],
    ['a day', dayMs, true, 1000, 1],
    ['an hour, before the job ran', 60 * 60_000, false, 1000, 1],
    ['a period', 40 * dayMs, true, 2000, 2],
  ])('re-installed after %s', async (_, ms, jobRan, paid, links) => {
    const room = await aPaymentsWorld(await fresh())
    const first = await room.install()
    await room.uninstall()
    if (jobRan) await room.runJobs()
    await room.clock.advance(ms)
    const second = await room.install()
    await room.clock.advance(5 * 60_000)
    await room.runJobs()
    expect(second.paymentSubscriptionId === first.paymentSubscriptionId).toBe(links === 1)
    expect(room.money()[0]).toBe(paid)
    expect(room.double.liveSubscriptions(room.customer.id)).toMatchObject([{ id: second.paymentSubscriptionId, cancelAtPeriodEnd: false }])
    expect(await room.db.selectFrom('payment_links').selectAll().execute()).toHaveLength(links)
    await room.clock.advance(32 * dayMs)
    expect(room.money()[0]).toBe(paid + 1000)
  })
})

onBothDialects('prices and terms', (fresh) => {
  test('a new price is for new subscriptions; live ones keep theirs', async () => {
    const room = await aPaymentsWorld(await fresh())
    const first = await room.install()
    const former = (await room.item()).paymentPriceId
    for (const cents of [2000, 1000]) {
      const before = (await room.item()).paymentPriceId
      await room.db.updateTable('marketplace_items').set({ price_cents: cents, payment_price_id: null }).execute()
      await room.db.transaction().execute((tx) => room.payments.priceChanged(tx, { itemId: 'item_1', former: before }))
      await room.runJobs()
    }
    const item = await room.item()
    expect(item.paymentPriceId).not.toBe(former)
    expect([...room.double.prices.values()].map(({ unit, active }) => [unit.cents, active])).toEqual([
      [1000, false],
      [2000, false],
      [1000, true],
    ])
    expect((await room.provider.getSubscription(first.paymentSubscriptionId as string))?.priceId).toBe(former)
  })

  test('a new fee reaches live subscriptions', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.db.updateTable('marketplace_vendors').set({ application_fee_hundredths: 1250 }).execute()
    await room.db.transaction().execute((tx) => room.payments.termsChanged(tx, { vendorId: 'ven_1' }))
    await room.runJobs()
    await room.clock.advance(32 * dayMs)
    expect(room.money()).toEqual([2000, 700 + 875, 300 + 125])
  })

  test('a daemon whose currency differs from that of a price does not start', async () => {
    const { db } = await aPaymentsWorld(await fresh())
    await assertCurrency(db, { currency: 'eur' })
    await expect(assertCurrency(db, { currency: 'usd' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('TENANTRY_PAYMENTS_CURRENCY=eur'),
    })
  })

  test('an item without vendor is paid to the platform', async () => {
    const room = await aPaymentsWorld(await fresh())
    await room.install()
    await room.db.updateTable('marketplace_items').set({ vendor_id: null }).execute()
    await room.db.transaction().execute((tx) => room.payments.termsChanged(tx, { itemId: 'item_1' }))
    await room.runJobs()
    await room.clock.advance(32 * dayMs)
    expect(room.money()).toEqual([2000, 700, 1300])
  })
})

test('every topic has a handler', () => {
  const jobs = paymentsFeature.jobs?.({ clock: manualClock() } as never) ?? {}
  expect(Object.keys(jobs).every((topic) => /^[a-z]+([.-][a-z]+)*$/.test(topic))).toBe(true)
})
