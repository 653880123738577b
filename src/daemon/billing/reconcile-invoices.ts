import { acceptFix, type Difference, difference, monthBefore, monthOf } from '../../core/billing/index.ts'
import { isoIn, isoNow } from '../../core/kit/index.ts'
import { isLive, type ListedInvoice, moneyText, type ProviderSubscription } from '../../core/payments/index.ts'
import type { SubscriptionRecord } from '../marketplace/index.ts'
import { lastEndOf, usageBesides, usageCents } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'
import { isWaived } from './plan-reports.ts'
import { monthsBack } from './read-invoices.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>
type Compared = Readonly<{
  slug: string
  rows: readonly SubscriptionRecord[]
  all: readonly ProviderSubscription[]
  invoices: readonly ListedInvoice[]
}>

const dayMs = 86_400_000
/** The provider waits an hour before it finalises a draft, and up to three days if its settings say so. */
const draftMs = 4 * dayMs

/**
 * Invoices of subscriptions that stay drafts: the provider finalises none of an unpaid subscription, of one whose collection somebody paused, or of
 * one that was cancelled within the hour of its draft. Their tenant is not charged for the period.
 */
export function ofDrafts({ clock }: Pick<Deps, 'clock'>, { slug, all, invoices }: Compared): Difference[] {
  const own = new Set(all.filter(({ metadata }) => metadata.svc_kind === 'item' || metadata.svc_kind === 'plan').map(({ id }) => id))
  return invoices
    .filter((one) => one.status === 'draft' && own.has(one.subscriptionId ?? '') && one.createdAt < isoIn(clock, -draftMs))
    .map(({ id, subscriptionId, createdAt, total }) =>
      difference(
        'invoice_not_final',
        { subject: slug, id },
        {
          ...{ here: `an invoice of ${subscriptionId}`, there: `draft of ${moneyText(total)} since ${createdAt}` },
          fix: 'finalise it and charge the customer in the Dashboard of the provider; to waive it, void it there after that',
        },
      ),
    )
}

/** Invoices of items with a monthly price that charge another amount: somebody changed the quantity, or added a second price. */
export async function ofMonthlyPrices({ provider }: Deps, { slug, rows, all, invoices }: Compared): Promise<Difference[]> {
  const found: Difference[] = []
  for (const row of rows.filter(({ priceModel }) => priceModel === 'flat-monthly')) {
    const there = all.find(({ id }) => id === row.paymentSubscriptionId)
    // Another price is a difference of its own.
    if (!there || there.priceId !== row.paymentPriceId) continue
    for (const invoice of invoices.filter(({ subscriptionId }) => subscriptionId === there.id)) {
      const owed = row.priceCents ?? 0
      const charged = usageCents(invoice)
      const isFinal = invoice.finalizedAt !== null && invoice.status !== 'void'
      if (!isFinal || charged === owed || invoice.lines.every(({ invoiceItemId }) => invoiceItemId !== null)) continue
      const refunded = charged > owed ? ((await provider.getInvoice(invoice.id))?.refundedCents ?? 0) : 0
      if (charged > owed && refunded >= charged - owed) continue
      const accept = acceptFix('price_differs', invoice.id, slug)
      found.push(
        difference(
          'price_differs',
          { subject: slug, id: invoice.id },
          {
            here: `${row.itemId} costs ${moneyText({ ...invoice.total, cents: owed })} a month`,
            there: `the invoice of ${invoice.createdAt} charges ${moneyText({ ...invoice.total, cents: charged })}`,
            fix:
              charged > owed
                ? `in the Dashboard of the provider leave its price alone, with quantity 1, and refund the difference; or ${accept}`
                : accept,
          },
        ),
      )
    }
  }
  return found
}

/** Users whose subscription ended without an invoice for them, as when it was cancelled by hand and the event of that never came. */
export async function ofEnded({ db, clock }: Pick<Deps, 'db' | 'clock'>, { slug, all, invoices }: Compared): Promise<Difference[]> {
  const ended = all.filter((one) => !isLive(one) && one.endedAt !== null && one.endedAt < isoIn(clock, -dayMs))
  if (ended.length === 0) return []
  const reports = await db
    .selectFrom('billing_reports')
    .selectAll()
    .where(
      'payment_subscription_id',
      'in',
      ended.map(({ id }) => id),
    )
    .where('sent_at', 'is not', null)
    .orderBy('event_at')
    .execute()
  return ended.flatMap(({ id, endedAt }) => {
    const ofSubscription = invoices.filter(({ subscriptionId }) => subscriptionId === id)
    const lastEnd = lastEndOf(ofSubscription)
    const own = reports.filter((row) => row.payment_subscription_id === id && !isWaived(row) && row.event_at >= lastEnd)
    // One claim charges all of them.
    const owed = own.reduce((sum, row) => sum + row.quantity * row.unit_cents - row.claimed_cents, 0)
    const cents = owed - usageBesides(ofSubscription)
    if (cents <= 0) return []
    const users = own.filter(({ quantity }) => quantity > 0).map(({ quantity, month }) => `${quantity} users of ${month}`)
    const text = {
      here: `${users.join(', ')}: ${moneyText({ cents, currency: own[0]?.currency ?? '' })}`,
      there: `ended on ${endedAt} without an invoice of them`,
      fix: `tenantry webhooks list --type customer.subscription.deleted, then replay the event of ${id}; without one, invoice them in the Dashboard of the provider, then ${acceptFix('usage_not_invoiced', id, slug)}`,
    }
    return [difference('usage_not_invoiced', { subject: slug, id }, text)]
  })
}

/**
 * Late users whose item on the next invoice somebody deleted. That waives nothing: the end of the subscription charges them. An item that an invoice
 * lists exists: a month that was late for all tenants takes no call for each of its items every night.
 */
export async function ofLateItems(
  { db, clock, provider }: Deps,
  { id: tenantId, slug }: Readonly<{ id: string; slug: string }>,
  invoices: readonly ListedInvoice[],
) {
  const listed = new Set(invoices.flatMap(({ lines }) => lines.map(({ invoiceItemId }) => invoiceItemId)))
  const rows = await db
    .selectFrom('billing_reports')
    .select(['id', 'revision', 'month', 'claimed_cents', 'currency', 'invoice_item_id'])
    .where('tenant_id', '=', tenantId)
    .where('claimed_cents', '>', 0)
    .where('invoice_id', 'is', null)
    .where('month', '>=', monthBefore(monthOf(isoNow(clock)), monthsBack))
    .orderBy('id')
    .execute()
  const found: Difference[] = []
  for (const { id, revision, month, claimed_cents: cents, currency, invoice_item_id: itemId } of rows)
    if (itemId !== null && !listed.has(itemId) && !(await provider.getInvoiceItem(itemId)))
      found.push(
        difference(
          'usage_not_invoiced',
          { subject: slug, id },
          {
            ...{ here: `late users of ${month}: ${moneyText({ cents, currency })}`, there: `the invoice item ${itemId} was deleted` },
            fix: `add an invoice item to the subscription in the Dashboard of the provider, with the metadata svc_report=${id}:${revision}, then ${acceptFix('usage_not_invoiced', id, slug)}`,
          },
        ),
      )
  return found
}
