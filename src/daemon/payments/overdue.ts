import { isoIn, problem } from '../../core/kit/index.ts'
import { type ListedInvoice, moneyText } from '../../core/payments/index.ts'
import { subscriptionsOf } from '../marketplace/index.ts'
import { type Given, mayHaveCharged, Refused } from './agreement.ts'
import type { PaymentsDeps } from './deps.ts'
import { daysUntilDue } from './stripe-subscriptions.ts'

const dayMs = 24 * 60 * 60_000

/**
 * A tenant that has not paid gets no new subscription: it would use an item without paying, again after each end. Throws PAYMENT_FAILED as a refusal.
 * Installed items, and items that are resumed within their period, are not affected.
 */
export async function assertNothingOverdue(deps: PaymentsDeps, given: Given): Promise<void> {
  if (mayHaveCharged(given)) return
  const { tenantId, customerId } = given.attempt
  const open = await deps.provider.listInvoices({ customerId, status: 'open' })
  if (open.length === 0) return
  const failed = (await subscriptionsOf(deps.db, { tenantId })).filter(({ paymentStatus }) => paymentStatus !== 'ok')
  const known = new Set(failed.map(({ paymentSubscriptionId }) => paymentSubscriptionId))
  const overdue = open.find((invoice) => known.has(invoice.subscriptionId) || isLate(deps, invoice))
  if (overdue) throw new Refused(notPaid(given.actor.tenantSlug, overdue))
}

/** A bank debit or an invoice of the platform may be open for as long without a failure. */
const isLate = ({ clock }: Pick<PaymentsDeps, 'clock'>, { finalizedAt }: ListedInvoice): boolean =>
  finalizedAt !== null && finalizedAt < isoIn(clock, -daysUntilDue * dayMs)

const notPaid = (slug: string, { id, total }: ListedInvoice) =>
  problem(
    'PAYMENT_FAILED',
    `${slug} has not paid the invoice ${id} over ${moneyText(total)}, so it cannot buy items. Nothing was charged. ` +
      'fix: pay it by the link in the mail of the payment provider, or ask the operator of your platform, who runs ' +
      `\`tenantry tenants billing ${slug} --create-customer\` and sends a link to a new means of payment; then repeat the request`,
  )
