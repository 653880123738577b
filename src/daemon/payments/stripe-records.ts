import type Stripe from 'stripe'
import type {
  ListedInvoice,
  ProviderAccount,
  ProviderCustomer,
  ProviderDispute,
  ProviderInvoice,
  ProviderInvoiceItem,
  ProviderPrice,
  ProviderRefund,
  ProviderSubscription,
  ProviderTransfer,
} from '../../core/payments/index.ts'

// Objects of the SDK as records of core. Fields that are not used never leave this file.

const idOf = (value: string | Readonly<{ id: string }>): string => (typeof value === 'string' ? value : value.id)
export const idOrNull = (value: string | Readonly<{ id: string }> | null | undefined): string | null => (value ? idOf(value) : null)
export const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString()
const isoOrNull = (seconds: number | null | undefined): string | null => (seconds ? isoOf(seconds) : null)

export const toAccount = (account: Stripe.Account): ProviderAccount => ({
  id: account.id,
  chargesEnabled: account.charges_enabled,
  payoutsEnabled: account.payouts_enabled,
  transfersEnabled: account.capabilities?.transfers === 'active',
  pastDue: account.requirements?.past_due ?? [],
  disabledReason: account.requirements?.disabled_reason ?? null,
})

export const toCustomer = ({ id, email, name, metadata }: Stripe.Customer): ProviderCustomer => ({
  id,
  email: email ?? null,
  name: name ?? null,
  metadata,
})

export const toPrice = (price: Stripe.Price): ProviderPrice => ({
  id: price.id,
  productId: idOf(price.product),
  unit: { cents: price.unit_amount ?? 0, currency: price.currency },
  meterId: price.recurring?.meter ?? null,
  active: price.active,
  lookupKey: price.lookup_key,
})

export function toSubscription(sub: Stripe.Subscription): ProviderSubscription {
  const [item] = sub.items.data
  const start = item?.current_period_start ?? sub.start_date
  return {
    id: sub.id,
    customerId: idOf(sub.customer),
    status: sub.status as ProviderSubscription['status'],
    itemId: item?.id ?? '',
    priceId: item ? item.price.id : '',
    currentPeriodStart: isoOf(start),
    currentPeriodEnd: isoOf(item?.current_period_end ?? start),
    cancelAtPeriodEnd: sub.cancel_at_period_end,
    createdAt: isoOf(sub.created),
    canceledAt: isoOrNull(sub.canceled_at),
    endedAt: isoOrNull(sub.ended_at),
    destination: idOrNull(sub.transfer_data?.destination),
    applicationFeePercent: sub.application_fee_percent ?? null,
    isTaxed: sub.automatic_tax.enabled,
    latestInvoiceId: idOrNull(sub.latest_invoice),
    metadata: sub.metadata,
  }
}

/** Tax that the price includes is not in it: the account of the platform decides whether prices include tax. */
const addedTaxOf = ({ total_taxes: taxes }: Stripe.Invoice): number =>
  (taxes ?? []).reduce((sum, { amount, tax_behavior }) => (tax_behavior === 'exclusive' ? sum + amount : sum), 0)

/** Refunds are fields of the charges that paid the invoice. */
export const toInvoice = (
  invoice: Stripe.Invoice,
  payments: readonly Stripe.InvoicePayment[],
  disputes: Pick<ProviderInvoice, 'isDisputed' | 'isLost'> = { isDisputed: false, isLost: false },
): ProviderInvoice => ({
  ...toListedInvoice(invoice),
  refundedCents: chargesOf(payments).reduce((sum, { amount_refunded }) => sum + amount_refunded, 0),
  ...disputes,
})

export function toListedInvoice(invoice: Stripe.Invoice): ListedInvoice {
  return {
    id: invoice.id as string,
    number: invoice.number ?? null,
    customerId: idOrNull(invoice.customer) ?? '',
    subscriptionId: idOrNull(invoice.parent?.subscription_details?.subscription),
    status: (invoice.status ?? 'draft') as ProviderInvoice['status'],
    total: { cents: invoice.total, currency: invoice.currency },
    taxCents: addedTaxOf(invoice),
    paidCents: invoice.amount_paid,
    createdAt: isoOf(invoice.created),
    finalizedAt: isoOrNull(invoice.status_transitions?.finalized_at),
    dueAt: isoOrNull(invoice.due_date),
    periodStart: isoOf(invoice.period_start),
    periodEnd: isoOf(invoice.period_end),
    pageUrl: invoice.hosted_invoice_url ?? null,
    pdfUrl: invoice.invoice_pdf ?? null,
    metadata: invoice.metadata ?? {},
    lines: invoice.lines.data.map((line) => ({
      id: line.id,
      description: line.description,
      cents: line.amount,
      invoiceItemId: line.parent?.invoice_item_details?.invoice_item ?? null,
      periodStart: isoOf(line.period.start),
      periodEnd: isoOf(line.period.end),
      metadata: line.metadata,
    })),
  }
}

/** Payments are read with `payment_intent.latest_charge` expanded. */
export function chargesOf(payments: readonly Stripe.InvoicePayment[]): Stripe.Charge[] {
  const charges = payments.map(({ payment: { payment_intent: intent, charge } }) =>
    typeof intent === 'object' ? intent.latest_charge : charge,
  )
  return charges.filter((charge): charge is Stripe.Charge => typeof charge === 'object' && charge !== null)
}

const disputeStates: Readonly<Partial<Record<Stripe.Dispute['status'], 'won' | 'lost'>>> = {
  ...{ won: 'won', warning_closed: 'won', prevented: 'won', lost: 'lost' },
}

export const isWon = ({ status }: Pick<Stripe.Dispute, 'status'>): boolean => disputeStates[status] === 'won'
export const isLost = ({ status }: Pick<Stripe.Dispute, 'status'>): boolean => disputeStates[status] === 'lost'

/** Read with `charge` expanded. */
export const toDispute = (dispute: Stripe.Dispute, invoiceId: string | null): ProviderDispute => ({
  ...{ id: dispute.id, status: disputeStates[dispute.status] ?? 'open', reason: dispute.reason },
  amount: { cents: dispute.amount, currency: dispute.currency },
  customerId: typeof dispute.charge === 'object' ? idOrNull(dispute.charge.customer) : null,
  ...{ invoiceId, dueBy: isoOrNull(dispute.evidence_details?.due_by) },
})

const refundStates: Readonly<Record<string, ProviderRefund['status']>> = { succeeded: 'succeeded', failed: 'failed', canceled: 'failed' }

export const toRefund = (refund: Stripe.Refund, invoiceId: string | null): ProviderRefund => ({
  ...{ id: refund.id, status: refundStates[refund.status ?? ''] ?? 'pending', invoiceId, reason: refund.failure_reason ?? null },
  amount: { cents: refund.amount, currency: refund.currency },
})

export const toInvoiceItem = (item: Stripe.InvoiceItem): ProviderInvoiceItem => ({
  id: item.id,
  customerId: idOf(item.customer),
  amount: { cents: item.amount, currency: item.currency },
  description: item.description,
  invoiceId: idOrNull(item.invoice),
  metadata: item.metadata ?? {},
})

export const toTransfer = (transfer: Stripe.Transfer): ProviderTransfer => ({
  id: transfer.id,
  amount: { cents: transfer.amount, currency: transfer.currency },
  destination: idOrNull(transfer.destination) ?? '',
  metadata: transfer.metadata,
})
