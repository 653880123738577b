import { expect, test } from 'vitest'
import { isoNow } from '../../../../src/core/kit/index.ts'
import { endModules } from '../../../../src/daemon/payments/billing/end-modules.ts'
import { setDeveloperVendor } from '../../../../src/daemon/payments/billing/pay-developers.ts'
import { noProvider } from '../../../../src/daemon/payments/index.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld } from '../../../support/payments/billing-world.ts'
import { dyingAfter } from '../../../support/payments/payments-world.ts'
import { readyAccount } from '../../../support/payments/provider-double.ts'

const dayMs = 24 * 60 * 60_000
const aggregation = 'billing-usage-aggregation'
const payouts = 'billing-developer-payouts'
const operator = { kind: 'admin', accountId: 'adm_1', name: 'olga', role: 'operator', sessionId: 's' } as const

onBothDialects('paid modules', (fresh) => {
  test('each month is one invoice of the tenant; the developer is paid once with what was collected', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 499)
    await room.module('grades', 250)
    await room.until('2026-04-02T00:00:00.000Z')
    expect(room.money()).toEqual([749, 0, 749])
    expect((await room.usage()).map((row) => [row.month, row.module_id, row.price_cents, row.state])).toEqual([
      ['2026-03', 'attendance', 499, 'billed'],
      ['2026-03', 'grades', 250, 'billed'],
    ])
    for (let nth = 0; nth < 4; nth++) await room.run(aggregation)
    await Promise.all([room.run(aggregation), room.run(aggregation, room.replica())])
    expect(room.money()).toEqual([749, 0, 749])
    await room.until('2026-04-03T05:00:00.000Z')
    await Promise.all([room.run(payouts), room.run(payouts, room.replica())])
    await room.run(payouts)
    // 30 % of 7.49 are 2.25.
    expect([room.money(), await room.payouts()]).toMatchObject([
      [749, 524, 225],
      [{ month: '2026-03', gross_cents: 749, fee_cents: 225, net_cents: 524, held_cents: 0, state: 'transferred' }],
    ])
    await room.until('2026-06-04T00:00:00.000Z')
    expect([room.money(), (await room.payouts()).map(({ month }) => month)]).toEqual([
      [3 * 749, 3 * 524, 3 * 225],
      ['2026-03', '2026-04', '2026-05'],
    ])
  })

  const changeCustomer = async (room: Awaited<ReturnType<typeof aBillingWorld>>) => {
    const { id } = await room.provider.createCustomer({ key: 'other', name: 'Acme', email: 'b@acme.example', metadata: {} })
    await room.db.updateTable('tenants').set({ payment_customer_id: id }).where('id', '=', 'ten_acme').execute()
    return id
  }

  test.each([
    ['createInvoiceItem', 10 * 60_000],
    ['finishInvoice', 10 * 60_000],
    ['finishInvoice', 25 * 60 * 60_000],
  ] as const)(
    'are charged once if the customer changes while the answer of %s is missing, retried after %s ms',
    async (operation, laterMs) => {
      const room = await aBillingWorld(await fresh())
      await room.module('attendance', 500)
      await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
      room.double.fault(operation, 'answer lost')
      await room.run(aggregation)
      const other = await changeCustomer(room)
      await room.clock.advance(laterMs)
      expect(await room.run(aggregation)).toContain('1 billed, 0 unbilled')
      expect((await room.usage()).map(({ state, reason, customer_id }) => [state, reason, customer_id])).toEqual([
        ['billed', null, room.customer.id],
      ])
      expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([500, 0])
      // Later months are for the new customer.
      await room.until('2026-05-02T00:00:00.000Z')
      expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([500, 500])
    },
  )

  test('that the former customer cannot pay any more are charged to the new one', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    room.double.deleteCustomer(room.customer.id)
    expect(await room.run(aggregation)).toContain('0 billed, 1 unbilled')
    const other = await changeCustomer(room)
    expect(await room.run(aggregation)).toContain('1 billed, 0 unbilled')
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([0, 500])
  })

  test('whose draft was refused at the former customer name it, and are charged to the new one once it is deleted', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    room.double.fault('finishInvoice', 'refused')
    await room.run(aggregation)
    const other = await changeCustomer(room)
    await room.clock.advance(10 * 60_000)
    room.double.fault('finishInvoice', 'refused')
    expect(await room.run(aggregation)).toContain('0 billed, 1 unbilled')
    const reason = (await room.usage())[0]?.reason
    expect(reason).toContain(`(former customer ${room.customer.id}). fix: correct that customer`)
    expect(reason).toContain('delete the invoice items and the draft "Modules in 2026-03" there')
    const [draft] = await room.provider.listInvoices({ customerId: room.customer.id })
    for (const { id } of await room.provider.listInvoiceItems(room.customer.id)) await room.provider.deleteInvoiceItem(id)
    room.double.invoices.delete(draft?.id as string)
    await room.clock.advance(10 * 60_000)
    expect(await room.run(aggregation)).toContain('1 billed, 0 unbilled')
    expect([room.double.paidBy(room.customer.id), room.double.paidBy(other)]).toEqual([0, 500])
  })

  test('whose refused draft was deleted are charged once, on an invoice of their own that pays no vendor of an item', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    await room.developer(null)
    await room.module('attendance', 500)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    room.double.fault('finishInvoice', 'refused')
    expect(await room.run(aggregation)).toContain('0 billed, 1 unbilled')
    const [draft] = [...room.double.invoices.values()].filter(({ status }) => status === 'draft')
    room.double.deleteDraft(draft?.id as string)
    await room.clock.advance(2 * dayMs)
    expect(await room.run(aggregation)).toContain('1 billed, 0 unbilled')
    await room.until('2026-04-12T00:00:00.000Z')
    // Two months of the item at 10.00 EUR, and the module.
    expect(room.money()).toEqual([2500, 1400, 1100])
    expect(await room.run('billing-reconcile')).toBe('0 differences in 1 tenant')
  })

  const withdraw = (room: Awaited<ReturnType<typeof aBillingWorld>>) =>
    room.db
      .insertInto('module_withdrawals')
      .values({ module_id: 'attendance', version: '1.0.0', reason: 'unsafe', withdrawn_at: isoNow(room.clock) })
      .execute()
  const restore = ({ db }: Awaited<ReturnType<typeof aBillingWorld>>) => db.deleteFrom('module_withdrawals').execute()
  const suspend = ({ db }: Awaited<ReturnType<typeof aBillingWorld>>) => db.updateTable('tenants').set({ status: 'suspended' }).execute()
  const resume = ({ db }: Awaited<ReturnType<typeof aBillingWorld>>) => db.updateTable('tenants').set({ status: 'active' }).execute()

  test.each([
    ['withdrawn', withdraw, restore],
    ['of a suspended tenant', suspend, resume],
  ] as const)('a module %s costs nothing in months in which it did not run at all', async (_, stop, start) => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 499)
    await room.until('2026-04-15T00:00:00.000Z')
    expect(room.money()).toEqual([499, 0, 499])
    await stop(room)
    // It ran in a part of April.
    await room.until('2026-07-20T00:00:00.000Z')
    expect((await room.usage()).map(({ month }) => month)).toEqual(['2026-03', '2026-04'])
    expect(room.money()).toEqual([2 * 499, 0, 2 * 499])
    await start(room)
    // And in a part of July, which is recorded later.
    await room.until('2026-09-02T00:00:00.000Z')
    expect((await room.usage()).map(({ month }) => month)).toEqual(['2026-03', '2026-04', '2026-07', '2026-08'])
    expect(room.money()).toEqual([4 * 499, 0, 4 * 499])
  })

  test('a tenant that is deleted while it is suspended is not billed for the month of its deletion', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 499)
    await room.until('2026-04-15T00:00:00.000Z')
    await suspend(room)
    await room.until('2026-06-10T00:00:00.000Z')
    await room.db
      .updateTable('tenants')
      .set({ status: 'deleting', updated_at: isoNow(room.clock) })
      .execute()
    await endModules(room.deps, 'ten_acme', new AbortController().signal)
    expect(room.money()).toEqual([2 * 499, 0, 2 * 499])
  })

  test('killed between any two calls, one invoice and one transfer', async () => {
    for (let kill = 1; ; kill += 2) {
      const room = await aBillingWorld(await fresh(), { transferPayouts: true })
      await room.developer()
      await room.module('attendance', 499)
      await room.module('grades', 250)
      await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
      const dying = { ...room.replica(), clock: dyingAfter(room.clock, kill) }
      const ends = [await room.run(aggregation, dying).catch(() => 'killed')]
      // The provider forgets keys after a day.
      await room.clock.advance(2 * dayMs)
      await room.run(aggregation)
      ends.push(await room.run(payouts, dying).catch(() => 'killed'))
      await room.clock.advance(2 * dayMs)
      await room.run(payouts)
      expect([kill, room.money()]).toEqual([kill, [749, 524, 225]])
      if (!ends.includes('killed')) break
      expect(kill).toBeLessThan(60)
    }
  })

  test.each(
    ['createInvoice', 'createInvoiceItem', 'finishInvoice', 'createTransfer'].flatMap((operation) =>
      (['lost', 'answer lost', 'late', 'twice', 'failed', 'failed after'] as const).map((fault) => [operation, fault] as const),
    ),
  )('%s that is %s happens once', async (operation, fault) => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 499)
    room.double.fault(operation, fault)
    await room.clock.advance(Date.parse('2026-04-01T02:00:00.000Z') - room.clock.now().getTime())
    await room.run(aggregation)
    room.double.deliverLate()
    await room.clock.advance(2 * dayMs)
    await room.run(aggregation)
    await room.run(payouts)
    room.double.deliverLate()
    await room.clock.advance(2 * dayMs)
    await room.run(payouts)
    expect([room.money(), [...room.double.transfers.values()].length]).toEqual([[499, 349, 150], 1])
  })

  test('what is not paid is held, and counted once it is; a refund is not paid out', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-04T00:00:00.000Z')
    expect(await room.payouts()).toMatchObject([{ month: '2026-03', gross_cents: 0, net_cents: 0, held_cents: 500, state: 'listed' }])
    room.double.refuseCard(room.customer.id, false)
    for (const invoice of [...room.double.invoices.values()].filter(({ status }) => status === 'open')) room.double.payInvoice(invoice.id)
    await room.until('2026-05-02T00:00:00.000Z')
    const [, second] = await room.usage()
    room.double.refundInvoice(second?.invoice_id as string)
    await room.until('2026-05-04T00:00:00.000Z')
    expect((await room.payouts())[1]).toMatchObject({ month: '2026-04', gross_cents: 500, net_cents: 350, held_cents: 0 })
    expect((await room.usage()).map(({ state }) => state)).toEqual(['paid', 'refunded'])
    expect(room.money()).toEqual([500, 350, 150])
  })

  test('a refund in part is deducted from the statement, and what follows it from the next one', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    const [march] = room.double.invoices.keys()
    room.double.refundInvoice(march as string, 100)
    await room.until('2026-04-04T00:00:00.000Z')
    expect([room.money(), await room.payouts()]).toMatchObject([[400, 280, 120], [{ gross_cents: 400, held_cents: 0, deducted_cents: 0 }]])
    room.double.refundInvoice(march as string)
    await room.until('2026-05-04T00:00:00.000Z')
    expect((await room.usage()).map(({ state, refunded_cents }) => [state, refunded_cents])).toEqual([
      ['refunded', 500],
      ['paid', 0],
    ])
    expect([room.money(), (await room.payouts())[1]]).toMatchObject([
      [500, 350, 150],
      { gross_cents: 100, fee_cents: 30, net_cents: 70, deducted_cents: 400, state: 'transferred' },
    ])
    await room.until('2026-06-04T00:00:00.000Z')
    expect(room.money()).toEqual([1000, 700, 300])
  })

  test('a refund that exceeds what is due is deducted over several statements, and nobody is paid less than nothing', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-04T00:00:00.000Z')
    room.modules.set('attendance', { name: 'attendance', developerId: 'dev_1', price: { cents: 200, currency: 'eur' } })
    const [march] = room.double.invoices.keys()
    room.double.refundInvoice(march as string)
    for (const [month, net, deducted] of [
      ['05', 0, 200],
      ['06', 0, 200],
      ['07', 70, 100],
    ] as const) {
      await room.until(`2026-${month}-04T00:00:00.000Z`)
      expect((await room.payouts()).at(-1)).toMatchObject({ net_cents: net, deducted_cents: deducted })
    }
    expect(room.money()).toEqual([600, 420, 180])
  })

  test('one refunded cent or one dispute holds back only its amount from a statement that waits', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    // The statement of April has two months of attendance and one of grades: 5 + 5 + 3 EUR on two invoices.
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-04T00:00:00.000Z')
    await room.module('grades', 300)
    room.double.refuseCard(room.customer.id, false)
    for (const invoice of room.double.invoices.keys()) room.double.payInvoice(invoice)
    room.double.setAccount(room.account.id, { payoutsEnabled: false })
    await room.until('2026-05-04T00:00:00.000Z')
    expect((await room.payouts()).slice(1)).toMatchObject([{ gross_cents: 1300, net_cents: 910, state: 'waiting' }])
    const [march, april] = [...room.double.invoices.keys()] as [string, string]
    room.double.refundInvoice(march, 1)
    const dispute = room.double.dispute(april)
    room.double.setAccount(room.account.id, readyAccount)
    await room.deliver()
    await room.run(payouts)
    expect([room.money()[1], (await room.payouts()).slice(1)]).toMatchObject([
      349,
      [{ gross_cents: 499, fee_cents: 150, net_cents: 349, held_cents: 800, state: 'transferred' }],
    ])
    const audited = await room.db.selectFrom('audit').select('subject').where('action', '=', 'billing.payout-reduced').execute()
    expect(audited).toEqual([{ subject: 'dev_1' }])
    // The provider decides for the platform: the held share is due again.
    room.double.dispute(april, 'won', dispute)
    await room.until('2026-06-04T00:00:00.000Z')
    expect(room.money()[1]).toBe(Math.round((499 + 800 + 800) * 0.7))
  })

  test('a transfer that was refused for want of money is tried again the next day, without an operator', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    room.double.setAccount(room.account.id, { transfersEnabled: false })
    await room.until('2026-04-03T05:00:00.000Z')
    expect([room.money()[1], await room.payouts()]).toMatchObject([0, [{ state: 'waiting', net_cents: 350 }]])
    room.double.setAccount(room.account.id, readyAccount)
    await room.until('2026-04-09T00:00:00.000Z')
    expect([room.money()[1], await room.payouts()]).toMatchObject([350, [{ state: 'transferred' }]])
    const jobs = await room.db.selectFrom('jobs').select('status').where('topic', '=', 'billing.transfers').execute()
    expect(jobs.filter(({ status }) => status === 'pending')).toEqual([])
  })

  test.each([
    ['refused', null, 'listed'],
    ['without an answer', 'its account', 'waiting'],
  ] as const)('a dispute after a transfer that was %s holds its money back', async (_, fixed, state) => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    room.double.setAccount(room.account.id, { transfersEnabled: false })
    await room.until('2026-04-03T05:00:00.000Z')
    expect([room.money()[1], await room.payouts()]).toMatchObject([0, [{ state: 'waiting' }]])
    if (fixed) await room.db.updateTable('billing_payouts').set({ destination: room.account.id }).execute()
    room.double.dispute([...room.double.invoices.keys()][0] as string)
    room.double.setAccount(room.account.id, readyAccount)
    await room.until('2026-04-20T00:00:00.000Z')
    expect([room.money()[1], await room.payouts()]).toMatchObject([0, [{ state, reason: expect.stringContaining('refunded or disputed') }]])
  })

  test('a transfer that the provider refused goes to the account that the vendor has then, once', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-03T03:00:00.000Z')
    room.double.setAccount(room.account.id, { transfersEnabled: false })
    await room.run(payouts)
    expect(await room.payouts()).toMatchObject([{ state: 'waiting', destination: null, transfer_attempt: 1 }])
    const other = await room.provider.createAccount({ key: 'b', name: 'B', email: 'b@b.example', country: 'DE', metadata: {} })
    room.double.setAccount(other.id, readyAccount)
    room.double.setAccount(room.account.id, readyAccount)
    await room.db.updateTable('marketplace_vendors').set({ payment_account_id: other.id }).execute()
    await room.run(payouts)
    await room.run(payouts)
    expect([room.double.receivedBy(room.account.id), room.double.receivedBy(other.id)]).toEqual([0, 350])
  })

  test.each([
    ['in full', 900],
    ['in part', 1],
  ])('an invoice that a credit balance settles %s pays no developer: the share is held', async (_, creditCents) => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.module('timetable', 400)
    room.double.giveCredit(room.customer.id, creditCents)
    await room.until('2026-05-04T00:00:00.000Z')
    const paidCents = 900 - creditCents
    expect(room.money()).toEqual([paidCents + 900, 630, paidCents + 270])
    expect(await room.payouts()).toMatchObject([
      { month: '2026-03', gross_cents: 0, held_cents: 900, state: 'listed' },
      { month: '2026-04', gross_cents: 900, net_cents: 630, held_cents: 900, state: 'transferred' },
    ])
  })

  test('a payment that is lost in a dispute before any statement is not held any more, and pays no developer', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    const [march] = room.double.invoices.keys()
    const dispute = room.double.dispute(march as string)
    await room.until('2026-04-04T00:00:00.000Z')
    room.double.dispute(march as string, 'lost', dispute)
    await room.until('2026-06-04T00:00:00.000Z')
    expect((await room.usage()).map(({ state }) => state)).toEqual(['void', 'paid', 'paid'])
    expect((await room.payouts()).map((one) => [one.month, one.net_cents, one.held_cents])).toEqual([
      ['2026-03', 0, 500],
      ['2026-04', 350, 0],
      ['2026-05', 350, 0],
    ])
    expect([room.money()[1], await room.run('billing-reconcile')]).toEqual([700, '0 differences in 1 tenant'])
  })

  test('a payment that is lost in a dispute while its statement waits is in no statement, so nothing is taken back from the developer', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    room.double.setAccount(room.account.id, { payoutsEnabled: false })
    await room.until('2026-04-04T00:00:00.000Z')
    expect(await room.payouts()).toMatchObject([{ net_cents: 350, state: 'waiting' }])
    const [march] = room.double.invoices.keys()
    const dispute = room.double.dispute(march as string)
    await room.until('2026-04-20T00:00:00.000Z')
    room.double.dispute(march as string, 'lost', dispute)
    await room.deliver()
    room.double.setAccount(room.account.id, readyAccount)
    await room.until('2026-05-04T00:00:00.000Z')
    expect((await room.payouts()).map((one) => [one.month, one.net_cents, one.held_cents])).toEqual([
      ['2026-03', 0, 0],
      ['2026-04', 350, 0],
    ])
    expect([room.money()[1], await room.run('billing-reconcile')]).toEqual([350, '0 differences in 1 tenant'])
  })

  test('a disputed payment is held, and a statement with it is not transferred', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    const dispute = (isDisputed: boolean) => {
      for (const invoice of room.double.invoices.values()) invoice.isDisputed = isDisputed
    }
    dispute(true)
    await room.until('2026-04-04T00:00:00.000Z')
    expect([room.money(), await room.payouts()]).toMatchObject([[500, 0, 500], [{ net_cents: 0, held_cents: 500, state: 'listed' }]])
    // The account cannot be paid, so the next statement waits; then its payments are disputed.
    await room.db.updateTable('marketplace_vendors').set({ payouts_enabled: 0 }).execute()
    dispute(false)
    await room.until('2026-05-04T00:00:00.000Z')
    dispute(true)
    await room.db.updateTable('marketplace_vendors').set({ payouts_enabled: 1 }).execute()
    await room.run(payouts)
    expect([room.money()[1], (await room.payouts())[1]]).toMatchObject([
      0,
      { net_cents: 0, state: 'listed', reason: 'everything was refunded or disputed' },
    ])
  })

  test('an invoice of modules that cannot be collected raises an alert, which its payment closes, and one mail to the tenant', async () => {
    const room = await aBillingWorld(await fresh())
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example', name: 'Acme & Co' }).execute()
    await room.module('attendance', 499)
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-02T00:00:00.000Z')
    await room.deliver()
    expect([room.money(), await room.alerts()]).toEqual([[0, 0, 0], ['payment_failed open']])
    // The provider tries again and reports each failure, in the other mode that the invoice is overdue: one mail for the invoice.
    const [invoice] = [...room.double.invoices.values()]
    for (const type of ['invoice.payment_failed', 'invoice.overdue'])
      await room.send({ id: `evt_${type}`, type, objectKind: 'invoice', objectId: invoice?.id as string, createdAt: isoNow(room.clock) })
    await room.runJobs()
    const mails = room.mails.filter(({ subject }) => subject.includes('not paid'))
    expect(mails).toMatchObject([
      { to: 'office@acme.example', subject: 'Your invoice for modules is not paid', id: expect.stringMatching(/^pml_[0-9a-z]+$/) },
    ])
    expect(mails[0]?.text).toContain('4.99 EUR')
    expect(mails[0]?.text).toContain('Check your means of payment')
    expect(mails[0]?.html).toContain('<p>Hello Acme &amp; Co,</p>')
    for (const { id } of room.double.invoices.values()) room.double.payInvoice(id)
    await room.deliver()
    expect([room.money(), await room.alerts()]).toEqual([[499, 0, 499], ['payment_failed closed']])
  })

  test.each([
    ['invoice.voided', 'void'],
    ['invoice.marked_uncollectible', 'uncollectible'],
  ] as const)('%s closes the alert of an invoice that is not paid: nothing more is collected', async (type, status) => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 499)
    room.double.refuseCard(room.customer.id)
    await room.until('2026-04-02T00:00:00.000Z')
    await room.deliver()
    const [invoice] = [...room.double.invoices.values()]
    if (!invoice) throw new Error('no invoice')
    invoice.status = status
    await room.send({ id: `evt_${status}`, type, objectKind: 'invoice', objectId: invoice.id, createdAt: isoNow(room.clock) })
    await room.runJobs()
    expect([room.money(), await room.alerts()]).toEqual([[0, 0, 0], ['payment_failed closed']])
  })

  test('without transfers statements are listed; one that is listed is never transferred', async () => {
    const db = await fresh()
    const room = await aBillingWorld(db)
    await room.developer()
    await room.module('attendance', 500)
    await room.until('2026-04-04T00:00:00.000Z')
    await room.run(payouts, { ...room.deps, transferPayouts: true })
    expect([room.money(), await room.payouts()]).toMatchObject([[500, 0, 500], [{ net_cents: 350, state: 'listed', transfer_id: null }]])
  })

  test('a developer without vendor waits until an operator sets one that can be paid', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true })
    await room.developer(null)
    await room.module('attendance', 500)
    await room.until('2026-04-04T00:00:00.000Z')
    expect(await room.payouts()).toMatchObject([{ state: 'waiting', reason: 'the developer has no vendor' }])
    await expect(setDeveloperVendor(room.deps, operator, { id: 'dev_1', vendorId: 'ven_x' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(setDeveloperVendor(room.deps, operator, { id: 'dev_x', vendorId: 'ven_1' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await room.db.updateTable('marketplace_vendors').set({ application_fee_hundredths: 1250 }).execute()
    await setDeveloperVendor(room.deps, operator, { id: 'dev_1', vendorId: 'ven_1' })
    const audited = await room.db
      .selectFrom('audit')
      .select(['action', 'subject'])
      .where('action', '=', 'billing.developer-vendor')
      .execute()
    expect(audited).toEqual([{ action: 'billing.developer-vendor', subject: 'dev_1' }])
    await room.db.updateTable('marketplace_vendors').set({ payment_account_status: 'restricted' }).execute()
    await room.run(payouts)
    expect(await room.payouts()).toMatchObject([{ state: 'waiting', reason: 'the vendor cannot be paid' }])
    await room.db.updateTable('marketplace_vendors').set({ payment_account_status: 'active' }).execute()
    await room.run(payouts)
    expect([room.money(), await room.payouts()]).toMatchObject([[500, 437, 63], [{ state: 'transferred', vendor_id: 'ven_1' }]])
  })

  test('without customer or provider a month is unbilled with one alert, and billed once the customer exists', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.module('grades', 100)
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await room.until('2026-05-02T00:00:00.000Z')
    expect([(await room.usage()).map(({ state }) => state), await room.alerts()]).toEqual([
      ['unbilled', 'unbilled', 'unbilled', 'unbilled'],
      ['billing_incomplete open'],
    ])
    await room.run(aggregation, { ...room.deps, provider: noProvider })
    expect((await room.usage())[0]?.reason).toBe('the platform has no payment provider')
    await room.db.updateTable('tenants').set({ payment_customer_id: room.customer.id }).execute()
    await room.run(aggregation)
    expect([room.money()[0], await room.alerts()]).toEqual([1200, ['billing_incomplete closed']])
  })

  test('a price in another currency is not billed', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    room.modules.set('attendance', { name: 'attendance', developerId: 'dev_1', price: { cents: 500, currency: 'usd' } })
    await room.until('2026-04-02T00:00:00.000Z')
    expect([room.money()[0], await room.usage()]).toMatchObject([
      0,
      [{ state: 'unbilled', reason: 'the price is in USD, and the platform bills EUR' }],
    ])
  })

  test('the price of a month is that of its billing: a later price changes nothing', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    room.modules.set('attendance', { name: 'attendance', developerId: 'dev_1', price: { cents: 900, currency: 'eur' } })
    await room.run(aggregation)
    await room.until('2026-05-02T00:00:00.000Z')
    expect((await room.usage()).map(({ price_cents }) => price_cents)).toEqual([500, 900])
  })

  test('an announcement on the 24th names what will be charged, once', async () => {
    const room = await aBillingWorld(await fresh(), { priceModel: 'per-active-user', priceCents: 150 })
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    await room.install()
    await room.active(7)
    await room.module('attendance', 499)
    await room.until('2026-03-24T10:00:00.000Z')
    await room.run('billing-period-end-warning')
    await room.runJobs()
    expect(room.mails).toMatchObject([{ to: 'office@acme.example', subject: 'Your charges for 2026-03' }])
    expect(room.mails[0]?.text).toContain('Visits: 7 active users at 1.50 EUR = 10.50 EUR')
    expect(room.mails[0]?.text).toContain('Total: 15.49 EUR')
    expect(room.mails[0]?.html).toContain('<li>')
    await room.until('2026-04-06T00:00:00.000Z')
    expect(room.money()[0]).toBe(1549)
    await room.clock.advance(-room.clock.now().getTime() + Date.parse('2026-05-02T00:00:00.000Z'))
    expect(await room.run('billing-period-end-warning')).toContain('nothing to announce')
  })
})
