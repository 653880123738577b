import { isoIn, isoNow } from '../../core/kit/index.ts'
import type { ProviderInvoice } from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import { lockExclusive, type Tx } from '../db/index.ts'
import { findItem } from '../marketplace/index.ts'
import { findAttempt } from './attempts.repo.ts'
import type { PaymentsDeps } from './deps.ts'
import { nameOfInvoice, tenantOfCustomer } from './follow-invoice.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider' | 'billing'>

const lookAgainMs = 60_000

/**
 * Follows the refund of a payment that an operator made at the provider: it is audited, and a refund of modules is deducted from what their developers
 * are owed. A refund by Tenantry itself is recorded where it is made. Returns what happened, or when to look again.
 */
export async function followRefund(
  { db, clock, provider, billing }: Deps,
  chargeId: string,
): Promise<string | Readonly<{ runAt: string }>> {
  const charge = await provider.getCharge(chargeId)
  const invoice = charge?.invoiceId ? await provider.getInvoice(charge.invoiceId) : null
  if (!invoice) return 'nothing to do: not a payment of an invoice'
  const { subscriptionId } = invoice
  const subscription = subscriptionId === null ? null : await provider.getSubscription(subscriptionId)
  const metadata = subscription?.metadata ?? invoice.metadata
  if (metadata.svc_kind === undefined) return 'nothing to do: no svc_kind'
  return db.transaction().execute(async (tx) => {
    const attempt = await findAttempt(tx, metadata.svc_attempt ?? '')
    if (attempt?.finishedAt === null) return { runAt: isoIn(clock, lookAgainMs) }
    await billing.refunded(tx, invoice)
    const cents = await newlyRefunded(tx, clock, invoice)
    if (cents <= 0) return 'the refund is recorded'
    const subject = (await tenantOfCustomer(tx, invoice.customerId))?.slug ?? 'billing'
    const item = metadata.svc_item && (await findItem(tx, metadata.svc_item))?.name
    const { currency } = invoice.total
    const data = { invoiceId: invoice.id, chargeId, refundedCents: cents, currency, itemName: item || nameOfInvoice(invoice) }
    await recordAudit(tx, clock, { actor: { kind: 'system', name: 'payments' }, action: 'payment.refunded', subject, data })
    return `${cents} cents of ${invoice.id} were refunded`
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
