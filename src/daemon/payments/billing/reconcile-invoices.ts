import type { Difference } from '../../../core/billing/index.ts'
import { isoIn } from '../../../core/kit/index.ts'
import { isLive, type ListedInvoice, moneyText, type ProviderSubscription } from '../../../core/payments/index.ts'
import type { SubscriptionRecord } from '../../marketplace/index.ts'
import type { TenantRecord } from '../../tenants/index.ts'
import { lastEndOf, usageBesides, usageCents } from './claim-usage.ts'
import type { BillingDeps } from './deps.ts'
import { isWaived, type ReportRow } from './plan-reports.ts'

type Deps = Pick<BillingDeps, 'db' | 'clock' | 'provider'>
type Compared = Readonly<{
  rows: readonly SubscriptionRecord[]
  all: readonly ProviderSubscription[]
  invoices: readonly ListedInvoice[]
}>

const dayMs = 86_400_000
/** The provider waits an hour before it finalises a draft, and up to three days if its settings say so. */
const draftMs = 4 * dayMs
/** A final invoice never changes, so what it charges is named for a month and no longer. */
const namedMs = 40 * dayMs

/**
 * Invoices of subscriptions that stay drafts: the provider finalises none of an unpaid subscription, of one whose collection somebody paused, or of
 * one that was cancelled within the hour of its draft. Their tenant is not charged for the period.
 */
export function ofDrafts({ clock }: Pick<Deps, 'clock'>, { slug }: TenantRecord, { all, invoices }: Compared): Difference[] {
  const own = new Set(all.filter(({ metadata }) => metadata.svc_kind === 'item' || metadata.svc_kind === 'plan').map(({ id }) => id))
  return invoices
    .filter((one) => one.status === 'draft' && own.has(one.subscriptionId ?? '') && one.createdAt < isoIn(clock, -draftMs))
    .map(({ id, subscriptionId, createdAt, total }) => ({
      kind: 'payment_status_differs',
      ...{ subject: slug, id, here: `an invoice of ${subscriptionId}`, there: `draft of ${moneyText(total)} since ${createdAt}` },
      fix: 'finalise it and charge the customer in the Dashboard of the provider; to waive it, void it there after that',
    }))
}

type Reported = Compared & Readonly<{ slug: string; reports: readonly ReportRow[] }>

/** Compares what invoices charge for items with what is owed: the monthly price, or the users that were reported. */
export async function ofCharges(deps: Deps, { id, slug }: TenantRecord, compared: Compared): Promise<Difference[]> {
  const sent = deps.db.selectFrom('billing_reports').selectAll().where('tenant_id', '=', id).where('sent_at', 'is not', null)
  const reports = (await sent.execute()).filter((row) => !isWaived(row))
  const reported = { ...compared, slug, reports }
  return [...(await ofFinal(deps, reported)), ...ofEnded(deps, reported)]
}

async function ofFinal({ clock, provider }: Deps, { slug, invoices, ...compared }: Reported): Promise<Difference[]> {
  const found: Difference[] = []
  for (const invoice of invoices) {
    if (invoice.finalizedAt === null || invoice.finalizedAt < isoIn(clock, -namedMs) || invoice.status === 'void') continue
    const owed = monthlyPrice(invoice, compared) ?? usageOf(invoice, compared)
    const charged = usageCents(invoice)
    if (!owed || charged === owed.cents) continue
    const isOver = charged > owed.cents
    if (isOver && ((await provider.getInvoice(invoice.id))?.refundedCents ?? 0) >= charged - owed.cents) continue
    found.push({
      kind: 'price_differs',
      ...{ subject: slug, id: invoice.id, here: owed.here },
      there: `the invoice of ${invoice.createdAt} charges ${moneyText({ ...invoice.total, cents: charged })}`,
      fix: isOver
        ? 'refund the difference in the Dashboard of the provider, and leave a monthly price there alone, with quantity 1'
        : 'invoice the rest in the Dashboard of the provider; the difference is named for 40 days',
    })
  }
  return found
}

/** Users whose subscription ended without an invoice for them, as when it was cancelled by hand and the event of that never came. */
function ofEnded({ clock }: Deps, { slug, all, invoices, reports }: Reported): Difference[] {
  const [since, before] = [isoIn(clock, -namedMs), isoIn(clock, -dayMs)]
  return all.flatMap((one): Difference[] => {
    if (isLive(one) || one.endedAt === null || one.endedAt < since || one.endedAt > before) return []
    const { id, endedAt } = one
    const own = invoices.filter(({ subscriptionId }) => subscriptionId === id)
    const owed = owedFor(reports.filter((row) => row.payment_subscription_id === id && row.event_at >= lastEndOf(own)))
    if (!owed || owed.cents <= usageBesides(own)) return []
    const texts = {
      ...{ here: owed.here, there: `ended on ${endedAt} without an invoice of them` },
      fix: `tenantry webhooks list --type customer.subscription.deleted, then replay the event of ${id}; without one, invoice them in the Dashboard of the provider`,
    }
    return [{ kind: 'price_differs', subject: slug, id, ...texts }]
  })
}

type Owed = Readonly<{ cents: number; here: string }>

/** Null for an item with a price per user. A subscription with another price is named by itself. */
function monthlyPrice({ subscriptionId, lines, total }: ListedInvoice, { rows, all }: Pick<Compared, 'rows' | 'all'>): Owed | null {
  const row = rows.find((one) => one.priceModel === 'flat-monthly' && one.paymentSubscriptionId === subscriptionId)
  if (!row || all.find(({ id }) => id === subscriptionId)?.priceId !== row.paymentPriceId) return null
  if (lines.every(({ invoiceItemId }) => invoiceItemId !== null)) return null
  const cents = row.priceCents ?? 0
  return { cents, here: `${row.itemId} costs ${moneyText({ ...total, cents })} a month` }
}

/** The first invoice of a subscription is made at the begin of its period, and has no usage. */
function usageOf({ subscriptionId, createdAt, periodStart, periodEnd }: ListedInvoice, { reports }: Pick<Reported, 'reports'>) {
  if (createdAt < periodEnd) return null
  const own = reports.filter((row) => row.payment_subscription_id === subscriptionId)
  return owedFor(own.filter(({ event_at }) => event_at >= periodStart && event_at < periodEnd))
}

function owedFor(reports: readonly ReportRow[]): Owed | null {
  const [first] = reports
  if (!first) return null
  const cents = reports.reduce((sum, row) => sum + row.quantity * row.unit_cents - row.claimed_cents, 0)
  const users = reports.filter(({ quantity }) => quantity > 0).map(({ quantity, month }) => `${quantity} users of ${month}`)
  return { cents, here: `${users.join(', ')}: ${moneyText({ cents, currency: first.currency })}` }
}
