import { expect, test } from 'vitest'
import type { ProviderSubscription } from '../../../src/core/payments/index.ts'
import { active, resumed } from '../../../src/core/tenants/index.ts'
import type { Db } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aBillingWorld } from '../../support/payments/billing-world.ts'
import type { DoubleEvent } from '../../support/payments/provider-double.ts'

const dayMs = 24 * 60 * 60_000

/** The subscription that the event is about. */
const subjects = ['own', 'former', 'other tenant', 'no kind', 'unknown'] as const
/** The row of the tenant and item. */
const rows = ['none', 'active', 'cancelled'] as const
/** How long the subscription exists when the event comes, in days: a period of a month, and the record of event ids of 90 days. */
const ages = { 'just created': 0, 'period running': 10, 'period ended': 40, 'long ago': 400 } as const
const states = ['active', 'past_due', 'unpaid', 'paused', 'incomplete', 'canceled', 'incomplete_expired'] as const
const events = [
  ...(['customer.subscription.created', 'customer.subscription.updated', 'customer.subscription.deleted'] as const),
  ...(['customer.subscription.paused', 'customer.subscription.resumed'] as const),
  ...(['invoice.paid', 'invoice.payment_failed', 'invoice.finalization_failed'] as const),
]

type Case = Readonly<{
  event: (typeof events)[number]
  subject: (typeof subjects)[number]
  row: (typeof rows)[number]
  state: (typeof states)[number]
  age: keyof typeof ages
}>

/** What the row is afterwards: only its own subscription counts, and only its end cancels. */
function expected({ subject, row, state }: Omit<Case, 'age'>): string {
  if (row === 'none') return 'none'
  if (subject !== 'own') return `${row} ok`
  const isEnded = state === 'canceled' || state === 'incomplete_expired'
  if (isEnded) return 'cancelled ok'
  const payment = { active: 'ok', past_due: 'past_due', unpaid: 'unpaid', paused: 'unpaid', incomplete: 'past_due' }[state as 'active']
  return `${row} ${payment}`
}

async function aRow(db: Db, row: Case['row']) {
  const room = await aBillingWorld(db)
  if (row === 'none') return room
  await room.install()
  if (row === 'cancelled') await room.uninstall()
  await room.runJobs()
  return room
}

onBothDialects('each event of a subscription, whatever it is about, of every age and in every state of the row', (fresh) => {
  test.each(rows.flatMap((row) => subjects.map((subject) => [row, subject] as const)))('row %s, subscription %s', async (row, subject) => {
    const room = await aRow(await fresh(), row)
    const bornMs = room.clock.now().getTime()
    const [before] = await room.rows()
    let n = 0
    for (const [age, days] of Object.entries(ages) as [Case['age'], number][]) {
      await room.clock.advance(bornMs + days * dayMs - room.clock.now().getTime())
      for (const event of events)
        for (const state of states) {
          const one: Case = { event, subject, row, state, age }
          if (before) await room.db.updateTable('marketplace_subscriptions').set({ status: before.status, payment_status: 'ok' }).execute()
          const id = subject === 'own' ? (before?.payment_subscription_id ?? 'sub_none') : `sub_${subject.replace(' ', '_')}`
          place(room, { id, subject, state })
          const objectKind = event.startsWith('invoice') ? 'invoice' : 'subscription'
          const objectId = objectKind === 'invoice' ? invoiceOf(room, id) : id
          const sent: DoubleEvent = { id: `evt_t${n++}`, type: event, objectKind, objectId, createdAt: room.clock.now().toISOString() }
          await room.send(sent)
          await room.send(sent)
          await room.runJobs()
          const [after] = await room.rows()
          expect([one, after ? `${after.status} ${after.payment_status}` : 'none']).toEqual([one, expected(one)])
        }
    }
    expect(await room.db.selectFrom('payment_events').select('id').where('applied_at', 'is', null).execute()).toEqual([])
    expect(room.double.calls.filter(({ operation }) => operation === 'createSubscription')).toHaveLength(row === 'none' ? 0 : 1)
  })

  // Between the charge and the commit of the installation there is a subscription, and no row of it.
  test.each(events.flatMap((event) => states.map((state) => [event, state] as const)))('before our row: %s, %s', async (event, state) => {
    const room = await aBillingWorld(await fresh())
    room.faults.install = 1
    await room.install().catch(() => undefined)
    const [sub] = [...room.double.subscriptions.values()]
    if (!sub) throw new Error('no subscription was made')
    expect([await room.rows(), await room.attempts()]).toMatchObject([[], [{}]])
    sub.status = state
    const objectKind = event.startsWith('invoice') ? 'invoice' : 'subscription'
    const objectId = objectKind === 'invoice' ? invoiceOf(room, sub.id) : sub.id
    await room.send({ id: 'evt_early', type: event, objectKind, objectId, createdAt: room.clock.now().toISOString() })
    for (let minute = 0; minute < 10; minute++) {
      await room.runJobs()
      await room.clock.advance(60_000)
    }
    const [row] = await room.rows()
    const waiting = await room.db.selectFrom('payment_events').select('id').where('applied_at', 'is', null).execute()
    const isEnded = state === 'canceled' || state === 'incomplete_expired'
    expect([row ? `${row.status} ${row.payment_status}` : 'none', room.money(), waiting]).toEqual(
      isEnded ? ['none', [0, 0, 0], []] : [expected({ event, subject: 'own', row: 'active', state }), [1000, 700, 300], []],
    )
  })
})

type Room = Awaited<ReturnType<typeof aBillingWorld>>
type Placed = Readonly<{ id: string; subject: Case['subject']; state: Case['state'] }>

/** Puts the subscription at the provider as it is when the event is applied. */
function place({ double, customer, clock }: Room, { id, subject, state }: Placed): void {
  if (subject === 'unknown') return
  const known = double.subscriptions.get(id)
  const at = clock.now().toISOString()
  const metadata: Record<string, string> =
    subject === 'no kind'
      ? {}
      : { svc_kind: 'item', svc_tenant: subject === 'other tenant' ? 'ten_other' : 'ten_acme', svc_item: 'item_1', svc_attempt: 'pay_x' }
  const later = new Date(clock.now().getTime() + 1000 * dayMs).toISOString()
  const record: ProviderSubscription = {
    ...{ id, customerId: customer.id, status: state, itemId: 'si_1', priceId: 'price_1', currentPeriodStart: at, cancelAtPeriodEnd: false },
    currentPeriodEnd: later,
    ...{
      createdAt: at,
      canceledAt: null,
      endedAt: null,
      destination: null,
      applicationFeePercent: null,
      latestInvoiceId: null,
      metadata,
      isTaxed: false,
    },
  }
  // One that would end with its period has not ended yet, so that it can be in each state.
  const currentPeriodEnd = known && !known.cancelAtPeriodEnd ? known.currentPeriodEnd : later
  double.subscriptions.set(id, { ...record, ...known, status: state, currentPeriodEnd, anchor: null })
}

function invoiceOf({ double, customer, clock }: Room, subscriptionId: string): string {
  const id = `in_${subscriptionId}`
  const at = clock.now().toISOString()
  double.invoices.set(id, {
    ...{
      id,
      customerId: customer.id,
      subscriptionId,
      status: 'open',
      total: { cents: 1, currency: 'eur' },
      taxCents: 0,
      paidCents: 0,
      refundedCents: 0,
      isDisputed: false,
      isLost: false,
    },
    ...{
      createdAt: at,
      finalizedAt: at,
      dueAt: null,
      ...{ number: null, pageUrl: null, pdfUrl: null },
      periodStart: at,
      periodEnd: at,
      metadata: {},
      lines: [],
      payout: null,
      vendorCents: 0,
    },
  })
  return id
}

onBothDialects('the mail after a failed payment', (fresh) => {
  test.each([
    ['active', 'Visits stays installed.'],
    ['cancelled', 'Visits is uninstalled; the payment is for the time before.'],
  ] as const)('of an item that is %s', async (row, text) => {
    const room = await aRow(await fresh(), row)
    await room.db.updateTable('tenants').set({ billing_email: 'office@acme.example' }).execute()
    const [stored] = await room.rows()
    const id = stored?.payment_subscription_id as string
    place(room, { id, subject: 'own', state: 'past_due' })
    const type = 'customer.subscription.updated'
    await room.send({ id: 'evt_1', type, objectKind: 'subscription', objectId: id, createdAt: room.clock.now().toISOString() })
    await room.runJobs()
    expect(room.mails.map((mail) => mail.text.includes(text))).toEqual([true])
  })
})

onBothDialects('subscriptions of plans', (fresh) => {
  const plan = (room: Room, given: Readonly<{ id?: string; state?: Case['state']; plan?: string; tenant?: string }> = {}) => {
    const { id = 'sub_plan', state = 'active', plan: named = 'pro', tenant = 'ten_acme' } = given
    place(room, { id, subject: 'own', state })
    const sub = room.double.subscriptions.get(id)
    if (sub) Object.assign(sub, { status: state, metadata: { svc_kind: 'plan', svc_tenant: tenant, svc_plan: named } })
    return {
      id: room.id().replace('x_', 'evt_'),
      type: 'customer.subscription.updated',
      objectKind: 'subscription',
      objectId: id,
      createdAt: room.clock.now().toISOString(),
    }
  }
  const state = async (room: Room) => {
    const { plan: named, status, suspended_reason: reason } = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
    return [named, status, reason]
  }
  const happen = async (room: Room, given: Parameters<typeof plan>[1]) => {
    await room.send(plan(room, given))
    await room.runJobs()
  }

  test('the plan of the metadata becomes that of the tenant, audited; one that is not paid yet changes nothing', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { state: 'incomplete' })
    expect((await state(room))[0]).toBe('light')
    await happen(room, {})
    expect((await state(room))[0]).toBe('pro')
    const audited = await room.db.selectFrom('audit').select('action').where('subject', '=', 'acme').execute()
    expect(audited.map(({ action }) => action)).toContain('tenant.changed')
    await happen(room, { plan: 'gold' })
    await happen(room, { tenant: 'ten_unknown', id: 'sub_x' })
    expect((await state(room))[0]).toBe('pro')
  })

  test('its end suspends a Light tenant, and only another subscription resumes it', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'light' })
    await happen(room, { plan: 'light', state: 'canceled' })
    expect([await state(room), await room.alerts()]).toEqual([
      ['light', 'suspended', 'billing: the subscription of the plan ended'],
      ['plan_ended open'],
    ])
    await happen(room, { plan: 'light', id: 'sub_2' })
    expect([await state(room), await room.alerts()]).toEqual([['light', 'active', null], ['plan_ended closed']])
    // Resumed for a time in between: a new subscription lifts the suspension for good.
    await happen(room, { plan: 'light', id: 'sub_2', state: 'canceled' })
    expect((await state(room))[1]).toBe('suspended')
    await room.db.updateTable('tenants').set({ status: 'active', resumed_until: '2099-01-01T00:00:00.000Z' }).execute()
    await happen(room, { plan: 'light', id: 'sub_3' })
    const { suspended_cause: cause, resumed_until: until } = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
    expect([await state(room), cause, until]).toEqual([['light', 'active', null], null, null])
    // A former subscription that is reported again changes nothing.
    await happen(room, { plan: 'pro', state: 'canceled' })
    expect((await state(room))[1]).toBe('active')
  })

  test('a tenant that an operator suspended stays suspended', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'light' })
    await room.db.updateTable('tenants').set({ status: 'suspended', suspended_reason: 'abuse', suspended_cause: 'operator' }).execute()
    await happen(room, { plan: 'light', state: 'canceled' })
    await happen(room, { plan: 'light', id: 'sub_2' })
    expect(await state(room)).toEqual(['light', 'suspended', 'abuse'])
  })

  test('a tenant that an operator suspended, and whose plan ended after that, is not resumed without a subscription', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'light' })
    await room.db.updateTable('tenants').set({ status: 'suspended', suspended_reason: 'abuse', suspended_cause: 'operator' }).execute()
    const resume = async () => {
      const row = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
      const { slug, status, suspended_reason: suspendedReason, suspended_cause: suspendedCause, resumed_until: resumedUntil } = row
      const standing = { slug, status, suspendedReason, suspendedCause, resumedUntil }
      return resumed(standing, { until: undefined, isPaid: row.plan !== 'light', now: '2026-01-01T00:00:00.000Z' })
    }
    expect(await resume()).toEqual(active)
    await happen(room, { plan: 'light', state: 'canceled' })
    expect(await state(room)).toEqual(['light', 'suspended', 'abuse'])
    await expect(resume()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('create a subscription') })
    await happen(room, { plan: 'light', id: 'sub_2' })
    expect([await state(room), await resume()]).toEqual([['light', 'suspended', 'abuse'], active])
  })

  test('a tenant whose plan ended, and that an operator suspended after that, is not resumed by a new subscription', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'light' })
    await happen(room, { plan: 'light', state: 'canceled' })
    await room.db.updateTable('tenants').set({ suspended_reason: 'abuse' }).execute()
    await happen(room, { plan: 'light', id: 'sub_2' })
    const { suspended_cause: cause } = await room.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
    expect([await state(room), cause]).toEqual([['light', 'suspended', 'abuse'], 'operator'])
  })

  test('the end of a larger plan raises an alert alone', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'pro' })
    await happen(room, { plan: 'pro', state: 'canceled' })
    expect([await state(room), await room.alerts()]).toEqual([['pro', 'active', null], ['plan_ended open']])
  })

  test('a second live subscription changes nothing; it is followed once the first one is cancelled', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'light' })
    await happen(room, { plan: 'pro', id: 'sub_2' })
    expect([await state(room), await room.alerts()]).toEqual([['light', 'active', null], ['billing_differs open']])
    await happen(room, { plan: 'light', state: 'canceled' })
    expect([await state(room), await room.alerts()]).toEqual([['pro', 'active', null], ['billing_differs closed']])
    // The subscription that is followed now ends as any other.
    await happen(room, { plan: 'pro', id: 'sub_2', state: 'canceled' })
    expect(await room.alerts()).toEqual(['billing_differs closed', 'plan_ended open'])
  })

  test('cancelling the second subscription closes the alert and changes nothing else', async () => {
    const room = await aBillingWorld(await fresh())
    await happen(room, { plan: 'light' })
    await happen(room, { plan: 'pro', id: 'sub_2' })
    await happen(room, { plan: 'pro', id: 'sub_2', state: 'canceled' })
    expect([await state(room), await room.alerts()]).toEqual([['light', 'active', null], ['billing_differs closed']])
  })

  test.each(['ended', 'new'] as const)(
    'a Light tenant that pays a new subscription stays active: event of the %s one first',
    async (order) => {
      const room = await aBillingWorld(await fresh())
      await happen(room, { plan: 'light' })
      const ended = plan(room, { plan: 'light', state: 'canceled' })
      const begun = plan(room, { plan: 'light', id: 'sub_2' })
      for (const event of order === 'ended' ? [ended, begun] : [begun, ended]) {
        await room.send(event)
        await room.runJobs()
      }
      expect([await state(room), await room.alerts()]).toEqual([['light', 'active', null], []])
    },
  )

  test('a thin event of a meter and an invoice that cannot be finalised raise alerts', async () => {
    const room = await aBillingWorld(await fresh())
    await room.send({
      ...{ id: 'evt_meter', type: 'v1.billing.meter.error_report_triggered', objectKind: 'billing.meter', objectId: 'mtr_1' },
      createdAt: room.clock.now().toISOString(),
    })
    const id = invoiceOf(room, 'sub_x')
    const invoice = room.double.invoices.get(id)
    if (invoice) Object.assign(invoice, { status: 'draft', subscriptionId: null, finalizedAt: null })
    await room.send({
      id: 'evt_inv',
      type: 'invoice.finalization_failed',
      objectKind: 'invoice',
      objectId: id,
      createdAt: room.clock.now().toISOString(),
    })
    await room.runJobs()
    expect(await room.alerts()).toEqual(['billing_incomplete open', 'billing_incomplete open'])
  })
})
