import { isoIn, type Problem, problem } from '../../core/kit/index.ts'
import { daysUntilDue, isPaymentFailure, type ListedInvoice, moneyText } from '../../core/payments/index.ts'
import { openPaymentFailures } from '../alerts/index.ts'
import type { Db } from '../db/index.ts'
import { subscriptionsOf } from '../marketplace/index.ts'
import { type InstallAttempt, mayHaveCharged, Refused } from './agreement.ts'
import type { PaymentsDeps } from './deps.ts'

const dayMs = 24 * 60 * 60_000

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider'>
type Buyer = Readonly<{ tenantId: string; slug: string; customerId: string }>

/**
 * A tenant that has not paid gets no new subscription: it would use an item without paying, again after each end. Throws PAYMENT_FAILED as a refusal.
 * Installed items, and items that are resumed within their period, are not affected.
 */
export async function assertNothingOverdue(deps: PaymentsDeps, given: InstallAttempt): Promise<void> {
  if (mayHaveCharged(given)) return
  const { tenantId, customerId } = given.attempt
  const overdue = await overdueOf(deps, { tenantId, slug: given.actor.tenantSlug, customerId })
  if (overdue) throw new Refused(overdue)
}

/**
 * The same before an installation, for a page that is read often: the provider is asked only about a tenant with a payment that failed. A provider
 * that does not answer refuses nothing here. Throws PAYMENT_FAILED.
 */
export async function assertNoFailedPayment(deps: Deps, buyer: Buyer): Promise<void> {
  if ((await failedOf(deps.db, buyer)).size === 0) return
  const overdue = await overdueOf(deps, buyer).catch((error) => {
    if (isPaymentFailure(error)) return undefined
    throw error
  })
  if (overdue) throw overdue
}

async function overdueOf(deps: Deps, { tenantId, slug, customerId }: Buyer): Promise<Problem | undefined> {
  const open = await deps.provider.listInvoices({ customerId, status: 'open' })
  if (open.length === 0) return undefined
  const failed = await failedOf(deps.db, { tenantId, slug })
  const found = open.find((one) => failed.has(one.id) || failed.has(one.subscriptionId ?? '') || isLate(deps, one))
  return found && notPaid(slug, found)
}

/** Subscriptions whose payment failed, and invoices of modules, late usage or an ended subscription: those have an alert alone. */
async function failedOf(db: Db, { tenantId, slug }: Omit<Buyer, 'customerId'>): Promise<ReadonlySet<string>> {
  const failed = (await subscriptionsOf(db, { tenantId })).filter(({ paymentStatus }) => paymentStatus !== 'ok')
  const ids = failed.flatMap(({ paymentSubscriptionId: id }) => (id === null ? [] : [id]))
  return new Set([...ids, ...(await openPaymentFailures(db, slug))])
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
