import { alertKey } from '../../core/alerts/index.ts'
import { isoIn, isoNow, plural } from '../../core/kit/index.ts'
import type { PaymentStatus } from '../../core/marketplace/index.ts'
import {
  isLive,
  isPaymentFailure,
  type ListedInvoice,
  objectToRead,
  type ProviderSubscription,
  paymentStatusOf,
} from '../../core/payments/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../db/index.ts'
import { findItem, lockSubscription, type SubscriptionRecord, storeSubscription } from '../marketplace/index.ts'
import { paymentFailed, paymentFailedKey } from './alerts.ts'
import { openAttempt } from './attempts.repo.ts'
import { enqueuePaymentMail } from './billing/failure-mails.ts'
import { followPlan } from './billing/plans.ts'
import { endSpan } from './billing/report-usage.ts'
import type { PaymentsDeps } from './deps.ts'
import { isRenewed } from './end-renewed.ts'
import { followDispute } from './follow-dispute.ts'
import { alertUnpaid, followUsage, stuckInvoice } from './follow-invoice.ts'
import { followFailedRefund, followRefund } from './follow-refund.ts'
import { createOnce } from './prices.ts'
import { refundLateCharge } from './refund-late-charge.ts'
import { lookAgainMs, planOfTenant, runAlone } from './run-alone.ts'
import { syncAccount } from './vendors.ts'

export const eventTopic = 'payments.event'

/**
 * Applies a stored event: its object is read from the provider as it is now, so events may come twice or in any order. Nothing is read from the
 * provider inside a transaction.
 */
export const applyEvent =
  (deps: PaymentsDeps): JobHandler =>
  async (payload) => {
    const { eventId, subscriptionId } = payload as { eventId: string; subscriptionId?: string }
    const { db, clock } = deps
    const row = await db.selectFrom('payment_events').selectAll().where('id', '=', eventId).executeTakeFirst()
    if (!row || row.applied_at !== null) return
    const event = { type: row.type, endpoint: row.endpoint, objectId: row.object_id }
    const outcome = subscriptionId === undefined ? await outcomeOf(deps, event) : await followSubscription(deps, subscriptionId, event)
    if (typeof outcome !== 'string') {
      await db.transaction().execute((tx) => enqueueEvent(tx, deps, { id: eventId, objectId: row.object_id, ...outcome }))
      return
    }
    await db
      .updateTable('payment_events')
      .set({ outcome, applied_at: isoNow(clock) })
      .where('id', '=', eventId)
      .execute()
  }

/** The event continues later, or in the queue of a subscription: what reads and applies one runs one after the other. */
type Continued = Readonly<{ subscriptionId?: string; runAt?: string }>

type Enqueued = Readonly<{ id: string; objectId?: string | null; subscriptionId?: string; runAt?: string }>

/** Events of one object run one after the other. */
export const enqueueEvent = (
  tx: Tx,
  { clock }: Pick<PaymentsDeps, 'clock'>,
  { id, objectId, subscriptionId, runAt }: Enqueued,
): Promise<void> =>
  enqueueJob(tx, clock, {
    ...{ topic: eventTopic, payload: { eventId: id, ...(subscriptionId && { subscriptionId }) } },
    ...{ queue: `payments:${subscriptionId ?? objectId ?? id}`, pool: 'payments', ...(runAt && { runAt }) },
  })

async function outcomeOf(deps: PaymentsDeps, event: Parameters<typeof objectToRead>[0]): Promise<string | Continued> {
  const object = objectToRead(event)
  if (!object) return 'nothing to do'
  if (object.kind === 'account') return syncAccount(deps, object.id)
  if (object.kind === 'subscription') return syncSubscription(deps, await deps.provider.getSubscription(object.id))
  if (object.kind === 'charge') return followRefund(deps, object.id)
  if (object.kind === 'refund') return followFailedRefund(deps, object.id)
  if (object.kind === 'dispute') return followDispute(deps, object.id, event.type === 'charge.dispute.closed')
  if (object.kind === 'setup') return followSetup(deps, object.id)
  if (object.kind === 'meter') return rejectedUsage(deps, object.id)
  const invoice = await deps.provider.getInvoice(object.id)
  if (invoice && event.type === 'invoice.finalization_failed' && invoice.status === 'draft') await stuckInvoice(deps, invoice)
  if (invoice?.subscriptionId) return { subscriptionId: invoice.subscriptionId }
  return invoice?.metadata.svc_kind === 'usage' ? followUsage(deps, invoice, event) : 'not an invoice of a subscription'
}

/** The provider took reports of usage and then refused them. */
async function rejectedUsage({ db, clock }: PaymentsDeps, meterId: string): Promise<string> {
  await db.transaction().execute((tx) =>
    raiseAlert(tx, clock, {
      kind: 'billing_incomplete',
      key: alertKey('billing_incomplete', `rejected:${meterId}`),
      subject: 'billing',
      severity: 'critical',
      title: `The payment provider rejected usage of the meter ${meterId}`,
      body:
        'Reports of active users were not counted, for example because a customer does not exist any more. They will be missing on the next invoice.\n' +
        'The Dashboard of the provider names the reports. The comparison names what is not invoiced.',
      command: 'tenantry billing reconcile',
    }),
  )
  return 'alert billing_incomplete'
}

/** In the queue of the subscription. Once that has ended, an event of its invoice is followed by the invoice itself. */
async function followSubscription(deps: PaymentsDeps, id: string, event: Parameters<typeof objectToRead>[0]): Promise<string | Continued> {
  const object = objectToRead(event)
  const found = await deps.provider.getSubscription(id)
  const outcome = await syncSubscription(deps, found, object?.id)
  if (object?.kind !== 'invoice' || found?.metadata.svc_kind !== 'item' || isLive(found)) return outcome
  const invoice = await deps.provider.getInvoice(object.id)
  if (invoice) await followUsage(deps, invoice, { type: event.type, ended: found })
  return outcome
}

/** Follows a subscription by its kind. `followed`: an invoice of it that is followed by itself. Returns what happened. */
async function syncSubscription(deps: PaymentsDeps, found: ProviderSubscription | null, followed?: string): Promise<string | Continued> {
  const kind = found?.metadata.svc_kind
  // Only an end that the provider reports cancels: a key of another account finds nothing.
  if (!found) return 'the provider does not know the subscription'
  if (kind === 'plan') {
    // The event of another subscription of the tenant has another queue.
    const changed = await runAlone(deps, planOfTenant(found.metadata.svc_tenant ?? ''), () => followPlan(deps, found))
    return changed ?? { subscriptionId: found.id, runAt: isoIn(deps.clock, lookAgainMs) }
  }
  if (kind !== 'item') return 'nothing to do: no svc_kind'
  const refunded = await refundLateCharge(deps, found)
  if (refunded !== undefined) return refunded
  const { id } = found
  const unpaid = isLive(found) ? [] : (await unpaidOf(deps, found)).filter((invoice) => invoice.id !== followed)
  return deps.db.transaction().execute(async (tx) => {
    const row = await lockSubscription(tx, { paymentSubscriptionId: id })
    if (row?.status !== 'active' && !isLive(found) && (await isBeingInstalled(tx, found)))
      return { subscriptionId: id, runAt: isoIn(deps.clock, lookAgainMs) }
    if (row && isLive(found)) return followPayments(deps, tx, { row, found })
    // Also for an item that was uninstalled before: the end may come without the invoice of its usage.
    if (!isLive(found)) await endSpan({ ...deps, tx }, { id, isOver: true })
    if (!row) return 'no item is installed with the subscription'
    const tenant = await tenantOf(tx, row)
    if (row.paymentStatus !== 'ok') await alertUnpaid(tx, deps.clock, { slug: tenant.slug, found, invoices: unpaid })
    await closeAlerts(tx, deps.clock, { subject: tenant.slug, keys: [paymentFailedKey(id)], because: 'the subscription ended' })
    const subscription = endedBy(row, isoNow(deps.clock))
    if (row.status === 'cancelled') {
      if (subscription !== row) await storeSubscription(tx, subscription)
      return `${row.id} was cancelled before`
    }
    await deps.bundles.end(tx, { actor: { ...system, tenantId: tenant.id, tenantSlug: tenant.slug }, subscription })
    return `${row.id} is cancelled`
  })
}

/** Ended before its period: nothing is left to continue at its price. */
const endedBy = (row: SubscriptionRecord, now: string): SubscriptionRecord =>
  row.paidUntil !== null && row.paidUntil > now ? { ...row, paidUntil: now } : row

/** Invoices of an ended subscription whose payment failed, or that the customer has not paid until they were due. */
async function unpaidOf({ provider, clock }: PaymentsDeps, { id, customerId }: ProviderSubscription): Promise<readonly ListedInvoice[]> {
  const open = await provider.listInvoices({ customerId, subscriptionId: id, status: 'open' }).catch((error) => {
    // The customer was deleted at the provider.
    if (isPaymentFailure(error, 'not_found')) return []
    throw error
  })
  return open.filter(({ dueAt }) => dueAt === null || dueAt <= isoNow(clock))
}

/** An installation that may commit after the end of its subscription: its row is cancelled then. */
async function isBeingInstalled(tx: Tx, { metadata }: ProviderSubscription): Promise<boolean> {
  const { svc_tenant: tenantId = '', svc_item: itemId = '' } = metadata
  return (await openAttempt(tx, { tenantId, itemId })) !== undefined
}

const system = { kind: 'system', name: 'payments' } as const

const tenantOf = (tx: Tx, { tenantId }: SubscriptionRecord) =>
  tx.selectFrom('tenants').select(['id', 'slug']).where('id', '=', tenantId).executeTakeFirstOrThrow()

type Followed = Readonly<{ row: SubscriptionRecord; found: ProviderSubscription }>

/** A failed payment takes nothing away: it is shown, audited and raised as an alert. */
async function followPayments({ clock, random }: PaymentsDeps, tx: Tx, { row, found }: Followed): Promise<string> {
  const paymentStatus: PaymentStatus = paymentStatusOf(found)
  if (paymentStatus !== 'ok' && isRenewed({ row, found })) return `${row.id} is cancelled: its new period is not charged`
  const isSame = row.paymentStatus === paymentStatus
  const next = { ...row, paymentStatus, paidUntil: found.currentPeriodEnd, updatedAt: isSame ? row.updatedAt : isoNow(clock) }
  if (!isSame || row.paidUntil !== next.paidUntil) await storeSubscription(tx, next)
  if (isSame) return `${row.id} stays ${paymentStatus}`
  const { slug } = await tenantOf(tx, row)
  if (paymentStatus === 'ok')
    await closeAlerts(tx, clock, { subject: slug, keys: [paymentFailedKey(found.id)], because: 'the invoice was paid' })
  else {
    const itemName = (await findItem(tx, row.itemId))?.name ?? row.itemId
    const state = { isUnpaid: paymentStatus === 'unpaid', isInstalled: row.status === 'active' }
    await raiseAlert(tx, clock, paymentFailed({ slug, itemName, subscriptionId: found.id, ...state }))
    await enqueuePaymentMail({ tx, clock, random }, { tenantId: row.tenantId, itemId: row.itemId, ...state })
  }
  await recordAudit(tx, clock, {
    actor: system,
    action: 'payment.status-changed',
    subject: row.id,
    data: { tenant: slug, from: row.paymentStatus, to: paymentStatus },
  })
  return `${row.id} is ${paymentStatus}`
}

type Deps = Pick<PaymentsDeps, 'provider'>

/**
 * A customer stored a means of payment on the set-up page: it becomes the default, and open invoices are collected by it. The events of the invoices
 * report how that ended.
 */
async function followSetup({ provider }: Deps, sessionId: string): Promise<string> {
  const customerId = await provider.applySetup(sessionId)
  if (customerId === null) return 'nothing to do: not a set-up page of this platform'
  const isOpen = ({ status }: Readonly<{ status: string }>) => status === 'open'
  const open = await provider.listInvoices({ customerId, status: 'open' })
  let paid = 0
  for (const { id: invoiceId } of open) {
    const find = async () => {
      const found = await provider.getInvoice(invoiceId)
      return found && !isOpen(found) ? found : null
    }
    try {
      const done = await createOnce(`pay:${invoiceId}:${sessionId}`, (key) => provider.payInvoice({ key, invoiceId }), find)
      if (done.status === 'paid') paid++
    } catch (error) {
      if (!isPaymentFailure(error) || error.isRetryable) throw error
    }
  }
  return `${customerId} has a means of payment; ${paid} of ${plural(open.length, 'open invoice')} paid`
}
