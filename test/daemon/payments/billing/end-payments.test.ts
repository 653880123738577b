import { expect, test } from 'vitest'
import { endPayments, noProvider } from '../../../../src/daemon/payments/index.ts'
import { deleteRowsOf } from '../../../../src/daemon/privacy/tenant-rows.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aBillingWorld, aUsedItem, perUser } from '../../../support/payments/billing-world.ts'

const acme = { id: 'ten_acme' as never }
const dayMs = 24 * 60 * 60_000
type Room = Awaited<ReturnType<typeof aBillingWorld>>

/** As the job of the deletion: the steps, then the rows. Killed in between, both are repeated. */
async function deleteTenant(room: Room): Promise<void> {
  await endPayments(room.deps, acme)
  await deleteRowsOf(room.db, 'ten_acme')
  await endPayments(room.deps, acme)
  await deleteRowsOf(room.db, 'ten_acme')
}

const beginDeletion = ({ db, clock }: Room) =>
  db.updateTable('tenants').set({ status: 'deleting', updated_at: clock.now().toISOString() }).where('id', '=', 'ten_acme').execute()

const audited = async ({ db }: Room) =>
  (await db.selectFrom('audit').select('action').where('subject', '=', 'acme').orderBy('seq').execute()).map(({ action }) => action)

onBothDialects('a tenant that is deleted', (fresh) => {
  test.each([
    ['the last month is reported and not invoiced', true],
    ['no daemon ran on the 1st', false],
  ])('pays for its users since the last invoice, of which the vendor gets 70 %%, if %s', async (_, isUp) => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.until('2026-04-02T00:00:00.000Z', () => isUp)
    await room.active(2)
    await deleteTenant(room)
    expect(room.money()).toEqual([0, 0, 0])
    await room.until('2026-05-31T00:00:00.000Z')
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[750, 525, 225], []])
    expect(await audited(room)).toEqual(expect.arrayContaining(['billing.tenant-ended']))
  })

  test('with modules that could not be billed raises an alert with their sum, which no later job closes', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await room.until('2026-04-02T00:00:00.000Z')
    await deleteTenant(room)
    expect(await room.usage()).toEqual([])
    await room.run('billing-usage-aggregation')
    const alerts = await room.db.selectFrom('alerts').select(['key', 'status', 'title']).orderBy('id').execute()
    expect(alerts).toEqual([
      expect.objectContaining({ key: 'billing_incomplete:unbilled', status: 'closed' }),
      { key: 'billing_incomplete:unbilled:acme', status: 'open', title: 'acme is deleted with 2 unbilled amounts (10.00 EUR)' },
    ])
  })

  test('pays for users whose invoice was final before they were reported', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    await room.until('2026-04-08T00:00:00.000Z', () => false)
    await deleteTenant(room)
    await room.until('2026-05-31T00:00:00.000Z')
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[450, 315, 135], []])
    expect(await audited(room)).toEqual(expect.arrayContaining(['billing.usage-claimed']))
  })

  test.each([
    ['no later users', 0, 600],
    ['users that are not reported', 2, 900],
  ])(
    'whose subscription was cancelled an hour before pays for late usage that waited for the next invoice: %s',
    async (_, later, cents) => {
      const room = await aBillingWorld(await fresh(), perUser)
      await room.install()
      await room.active(4)
      await room.until('2026-04-06T00:00:00.000Z', (at) => at < '2026-04-01T00:00:00.000Z' || at >= '2026-04-06T00:00:00.000Z')
      await room.active(later)
      const [live] = room.double.liveSubscriptions(room.customer.id)
      await room.provider.cancelSubscription({ key: 'by hand', id: live?.id as string })
      await room.deliver()
      await room.clock.advance(60 * 60_000)
      await deleteTenant(room)
      await room.until('2026-05-31T00:00:00.000Z')
      expect(room.money()[0]).toBe(cents)
    },
  )

  test('that uninstalled an item before pays for its users too', async () => {
    const room = await aUsedItem(await fresh())
    await room.clock.advance(dayMs)
    await deleteTenant(room)
    await room.until('2026-05-31T00:00:00.000Z')
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[450, 315, 135], []])
  })

  test.each(['reportUsage', 'updateSubscription', 'createInvoice', 'createInvoiceItem', 'finishInvoice'])(
    'pays once if the answer of %s is lost',
    async (operation) => {
      const room = await aBillingWorld(await fresh(), perUser)
      await room.developer()
      await room.module('attendance', 500)
      await room.install()
      await room.active(3)
      room.double.fault(operation, 'answer lost')
      for (let nth = 0; nth < 3; nth++) {
        await endPayments(room.deps, acme).catch(() => undefined)
        await room.clock.advance(dayMs)
      }
      await deleteTenant(room)
      await room.until('2026-05-31T00:00:00.000Z')
      expect([room.money()[0], room.double.liveSubscriptions(room.customer.id)]).toEqual([950, []])
    },
  )

  test('is not deleted while the provider does not answer', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    room.double.fault('reportUsage', 'lost')
    await expect(endPayments(room.deps, acme)).rejects.toThrow('was not sent')
    await deleteTenant(room)
    await room.until('2026-05-31T00:00:00.000Z')
    expect(room.money()[0]).toBe(450)
  })

  test('whose customer was deleted at the provider is charged for nothing, and does not wait', async () => {
    const room = await aBillingWorld(await fresh(), perUser)
    await room.install()
    await room.active(3)
    room.double.deleteCustomer(room.customer.id)
    await endPayments(room.deps, acme)
    expect(room.money()[0]).toBe(0)
  })

  test('pays for its modules up to the present month, once, and their developer is paid', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true, start: '2026-03-10T10:00:00.000Z' })
    await room.developer()
    await room.module('attendance', 500)
    await deleteTenant(room)
    expect(room.money()).toEqual([500, 0, 500])
    await room.until('2026-05-31T00:00:00.000Z')
    expect(room.money()).toEqual([500, 350, 150])
    expect(await room.payouts()).toMatchObject([{ gross_cents: 500, net_cents: 350, state: 'transferred' }])
    expect(await audited(room)).toEqual(expect.arrayContaining(['billing.modules-billed']))
  })

  test('that is still being deleted on the 1st pays for no further month, and its deletion ends', async () => {
    const room = await aBillingWorld(await fresh(), { transferPayouts: true, start: '2026-03-10T10:00:00.000Z' })
    await room.developer()
    await room.module('attendance', 500)
    await beginDeletion(room)
    await endPayments(room.deps, acme)
    for (const at of ['2026-04-02T00:00:00.000Z', '2026-05-02T00:00:00.000Z']) {
      await room.until(at)
      await endPayments(room.deps, acme)
      expect(room.double.paidBy(room.customer.id)).toBe(500)
    }
    expect(await room.usage()).toMatchObject([{ tenant_id: 'deleted:ten_acme', month: '2026-03', state: 'paid' }])
    await deleteTenant(room)
    await room.until('2026-06-30T00:00:00.000Z')
    expect(room.money()).toEqual([500, 350, 150])
  })

  test('does not pay again for a month that a job planned while the deletion ran', async () => {
    const room = await aBillingWorld(await fresh())
    await room.developer()
    await room.module('attendance', 500)
    await beginDeletion(room)
    await endPayments(room.deps, acme)
    const [billed] = await room.usage()
    if (!billed) throw new Error('nothing was billed')
    const repeated = { ...billed, id: 'mus_repeated', tenant_id: 'ten_acme', state: 'planned' as const, invoice_id: null }
    await room.db.insertInto('billing_usage').values(repeated).execute()
    await endPayments(room.deps, acme)
    expect([room.money()[0], (await room.usage()).map(({ id }) => id)]).toEqual([500, [billed.id]])
  })

  test('pays for a month older than 12 months that a call may have charged, and its deletion ends', async () => {
    const room = await aBillingWorld(await fresh())
    await room.module('attendance', 500)
    await room.until('2026-04-02T00:00:00.000Z')
    const [billed] = await room.usage()
    if (!billed) throw new Error('nothing was billed')
    const old = { ...billed, month: '2024-12', invoice_id: null, invoice_item_id: null }
    await room.db
      .insertInto('billing_usage')
      .values([
        { ...old, id: 'mus_planned', state: 'planned' },
        { ...old, id: 'mus_unbilled', module_id: 'grades', state: 'unbilled', reason: 'older than 12 months' },
      ])
      .execute()
    await room.clock.advance(dayMs)
    await endPayments(room.deps, acme)
    // March and the one of 2024, and the month of the deletion.
    expect(room.money()[0]).toBe(1500)
    expect((await room.usage()).find(({ id }) => id === 'mus_planned')).toMatchObject({ tenant_id: 'deleted:ten_acme', state: 'billed' })
  })

  test('while an installation is open is not deleted; the installation charges nothing any more', async () => {
    const room = await aBillingWorld(await fresh())
    room.double.fault('findPrice', 'lost')
    await expect(room.install()).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await beginDeletion(room)
    await expect(endPayments(room.deps, acme)).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.clock.advance(2 * 60_000)
    await room.runJobs()
    await deleteTenant(room)
    expect([room.money(), room.double.liveSubscriptions(room.customer.id), await room.rows()]).toEqual([[0, 0, 0], [], []])
  })

  test('pays nothing for an installation whose answer was lost before', async () => {
    const room = await aBillingWorld(await fresh())
    room.double.fault('createSubscription', 'answer lost')
    await room.install().catch(() => undefined)
    expect(room.money()).toEqual([1000, 700, 300])
    await beginDeletion(room)
    await room.clock.advance(2 * 60_000)
    await room.runJobs()
    await deleteTenant(room)
    expect([room.money(), room.double.liveSubscriptions(room.customer.id)]).toEqual([[0, 0, 0], []])
  })

  test('is not deleted without the provider while anything of it may charge', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const without = { ...room.deps, provider: noProvider }
    await expect(endPayments(without, acme)).rejects.toThrow('TENANTRY_STRIPE_SECRET_KEY')
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await expect(endPayments(without, acme)).rejects.toMatchObject({ code: 'PAYMENTS_UNAVAILABLE' })
    await room.db.deleteFrom('billing_spans').execute()
    await endPayments(without, acme)
  })

  test('ends its item at a former customer that no attempt names, and its plan at any customer', async () => {
    const room = await aBillingWorld(await fresh())
    await room.install()
    const { provider, customer } = room
    const other = await provider.createCustomer({ key: 'c2', name: 'Acme', email: 'b@acme.example', metadata: {} })
    const [item] = await provider.listSubscriptions(customer.id)
    const metadata = { svc_kind: 'plan', svc_tenant: 'ten_acme', svc_plan: 'light' }
    const sub = { priceId: item?.priceId as string, metered: false, payout: null, anchor: null, description: 'Plan', metadata }
    await provider.createSubscription({ key: 'plan', customerId: other.id, ...sub })
    await room.deliver()
    await room.db.updateTable('tenants').set({ payment_customer_id: null }).execute()
    await room.db.deleteFrom('payment_attempts').execute()
    await deleteTenant(room)
    await room.clock.advance(70 * dayMs)
    expect([room.double.paidBy(customer.id), room.double.paidBy(other.id)]).toEqual([1000, 1000])
    expect([customer, other].flatMap(({ id }) => room.double.liveSubscriptions(id))).toEqual([])
  })

  test.each(['cancelSubscription', 'updateSubscription'])('ends although the provider saved an internal error of %s', async (operation) => {
    const room = await aBillingWorld(await fresh(), operation === 'updateSubscription' ? perUser : {})
    await room.install()
    room.double.fault(operation, 'failed')
    await endPayments(room.deps, acme)
    await room.clock.advance(70 * dayMs)
    expect(room.double.liveSubscriptions(room.customer.id)).toEqual([])
  })
})
