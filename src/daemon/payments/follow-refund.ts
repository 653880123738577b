import { isoIn, isoNow } from '../../core/kit/index.ts'
import type { ProviderInvoice } from '../../core/payments/index.ts'
import { raiseAlert, wasRaised } from '../alerts/index.ts'
import { recordAudit } from '../audit/index.ts'
import { lockExclusive, type Tx } from '../db/index.ts'
import { findItem } from '../marketplace/index.ts'
import { refundFailed, refundFailedKey } from './alerts.ts'
import { findAttempt } from './attempts.repo.ts'
import { applyInvoice } from './billing/read-invoices.ts'
import type { PaymentsDeps } from './deps.ts'
import { nameOfInvoice, tenantOfInvoice } from './follow-invoice.ts'
import { lookAgainMs, paymentsOfInvoice, runAlone } from './run-alone.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'random' | 'provider'>

const system = { kind: 'system', name: 'payments' } as const

/** The effect, or when to look again. */
type Outcome = string | Readonly<{ runAt: string }>

/**
 * Follows the refund of a payment that an operator made at the provider: it is audited, and a refund of modules is deducted from what their developers
 * are owed. A refund by Tenantry itself is recorded where it is made.
 */
export async function followRefund(deps: Deps, chargeId: string): Promise<Outcome> {
  const charge = await deps.provider.getCharge(chargeId)
  return followInvoice(deps, charge?.invoiceId ?? null, async (tx, { invoice, newCents, subject, itemName }) => {
    if (newCents <= 0) return 'the refund is recorded'
    const data = { invoiceId: invoice.id, chargeId, refundedCents: newCents, currency: invoice.total.currency, itemName }
    await recordAudit(tx, deps.clock, { actor: system, action: 'payment.refunded', subject, data })
    return `${newCents} cents of ${invoice.id} were refunded`
  })
}

/**
 * The bank refused a refund, and the money is with the platform again: modules count as paid again, for the next statement of their developers. The
 * tenant has not got its money: an alert asks an operator to decide.
 */
export async function followFailedRefund(deps: Deps, refundId: string): Promise<Outcome> {
  const refund = await deps.provider.getRefund(refundId)
  if (refund?.status !== 'failed') return `nothing to do: the refund is ${refund?.status ?? 'unknown to the provider'}`
  return followInvoice(deps, refund.invoiceId, async (tx, { invoice, subject, itemName }) => {
    const { amount, reason } = refund
    if (await wasRaised(tx, refundFailedKey(refundId))) return 'the failure is recorded'
    await raiseAlert(tx, deps.clock, refundFailed({ slug: subject, itemName, refundId, invoiceId: invoice.id, amount, reason }))
    const data = { refundId, invoiceId: invoice.id, failedCents: amount.cents, currency: amount.currency, reason, itemName }
    await recordAudit(tx, deps.clock, { actor: system, action: 'payment.refund-failed', subject, data })
    return `the refund of ${amount.cents} cents of ${invoice.id} failed`
  })
}

/** `newCents`: refunded since the last call for the invoice. */
type Followed = Readonly<{ invoice: ProviderInvoice; newCents: number; subject: string; itemName: string }>
type Recorder = (tx: Tx, followed: Followed) => Promise<string>

/** One process at a time reads an invoice: a state that was read before a refund must not be stored after it. */
async function followInvoice(deps: Deps, invoiceId: string | null, record: Recorder): Promise<Outcome> {
  if (invoiceId === null) return notOfInvoice
  return (
    (await runAlone(deps, paymentsOfInvoice(invoiceId), () => apply(deps, invoiceId, record))) ?? { runAt: isoIn(deps.clock, lookAgainMs) }
  )
}

const notOfInvoice = 'nothing to do: not a payment of an invoice'

/** Applies what is refunded of an invoice now, in one transaction with its record. */
async function apply({ db, clock, provider }: Deps, invoiceId: string, record: Recorder): Promise<Outcome> {
  const invoice = await provider.getInvoice(invoiceId)
  if (!invoice) return notOfInvoice
  const { subscriptionId } = invoice
  const subscription = subscriptionId === null ? null : await provider.getSubscription(subscriptionId)
  const metadata = subscription?.metadata ?? invoice.metadata
  if (metadata.svc_kind === undefined) return 'nothing to do: no svc_kind'
  return db.transaction().execute(async (tx) => {
    const attempt = await findAttempt(tx, metadata.svc_attempt ?? '')
    if (attempt?.finishedAt === null) return { runAt: isoIn(clock, lookAgainMs) }
    await applyInvoice({ db: tx, clock }, invoice)
    const newCents = await newlyRefunded(tx, clock, invoice)
    const subject = (await tenantOfInvoice(tx, invoice))?.slug ?? 'billing'
    const item = metadata.svc_item && (await findItem(tx, metadata.svc_item))?.name
    return record(tx, { invoice, newCents, subject, itemName: item || nameOfInvoice(invoice) })
  })
}

/** Cents of an invoice that were refunded since the last call for it: a refund is audited once, whatever is killed or repeated. */
export async function newlyRefunded(tx: Tx, clock: Deps['clock'], invoice: Pick<ProviderInvoice, 'id' | 'refundedCents'>): Promise<number> {
  await lockExclusive(tx, `payment-refund ${invoice.id}`)
  const before = await tx.selectFrom('payment_refunds').select('refunded_cents').where('invoice_id', '=', invoice.id).executeTakeFirst()
  const change = { refunded_cents: invoice.refundedCents, updated_at: isoNow(clock) }
  await tx
    .insertInto('payment_refunds')
    .values({ invoice_id: invoice.id, ...change })
    .onConflict((conflict) => conflict.column('invoice_id').doUpdateSet(change))
    .execute()
  return invoice.refundedCents - (before?.refunded_cents ?? 0)
}
