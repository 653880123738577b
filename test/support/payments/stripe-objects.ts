import type {
  ProviderAccount,
  ProviderCustomer,
  ProviderInvoice,
  ProviderInvoiceItem,
  ProviderMeter,
  ProviderPrice,
  ProviderSubscription,
} from '../../../src/core/payments/index.ts'

// Records of the double as the JSON of the provider, as far as Tenantry reads it. A payment of an invoice has one intent and one charge.

const seconds = (at: string): number => Math.floor(Date.parse(at) / 1000)
const secondsOrNull = (at: string | null): number | null => (at === null ? null : seconds(at))

export const list = (data: readonly unknown[]) => ({ object: 'list', data, has_more: false, url: '/v1/list' })
export const intentIdOf = (invoiceId: string): string => `pi_${invoiceId}`
export const chargeIdOf = (invoiceId: string): string => `ch_${invoiceId}`

export const chargeOf = ({ id, paidCents, refundedCents, isDisputed }: ProviderInvoice) => ({
  ...{ id: chargeIdOf(id), object: 'charge', amount: paidCents, amount_refunded: refundedCents, disputed: isDisputed },
  ...{ transfer: 'tr_1', application_fee: 'fee_1', payment_intent: intentIdOf(id) },
})

/** Null stays null: an object that does not exist. */
const orNull =
  <Record, Shape>(shape: (record: Record) => Shape) =>
  (record: Record | null): Shape | null =>
    record === null ? null : shape(record)

export const objectOf = {
  account: orNull(({ id, chargesEnabled, payoutsEnabled, transfersEnabled, pastDue, disabledReason }: ProviderAccount) => ({
    ...{ id, object: 'account', charges_enabled: chargesEnabled, payouts_enabled: payoutsEnabled },
    ...{ capabilities: { transfers: transfersEnabled ? 'active' : 'inactive' } },
    requirements: { past_due: pastDue, disabled_reason: disabledReason },
  })),
  customer: orNull((customer: ProviderCustomer) => ({
    ...{ ...customer, object: 'customer', invoice_settings: { default_payment_method: 'pm_1' } },
  })),
  meter: ({ id, eventName, status }: ProviderMeter) => ({ id, object: 'billing.meter', event_name: eventName, status }),
  price: orNull(({ id, productId, unit, meterId, active, lookupKey }: ProviderPrice) => ({
    ...{ id, object: 'price', product: productId, unit_amount: unit.cents, currency: unit.currency, active, lookup_key: lookupKey },
    recurring: { interval: 'month', meter: meterId, usage_type: meterId === null ? 'licensed' : 'metered' },
  })),
  subscription: orNull((sub: ProviderSubscription) => ({
    ...{ id: sub.id, object: 'subscription', customer: sub.customerId, status: sub.status, metadata: sub.metadata },
    items: list([
      {
        ...{ id: sub.itemId, price: { id: sub.priceId } },
        ...{ current_period_start: seconds(sub.currentPeriodStart), current_period_end: seconds(sub.currentPeriodEnd) },
      },
    ]),
    ...{ start_date: seconds(sub.createdAt), created: seconds(sub.createdAt), cancel_at_period_end: sub.cancelAtPeriodEnd },
    ...{ canceled_at: secondsOrNull(sub.canceledAt), ended_at: secondsOrNull(sub.endedAt), latest_invoice: sub.latestInvoiceId },
    ...{ transfer_data: sub.destination === null ? null : { destination: sub.destination } },
    ...{ application_fee_percent: sub.applicationFeePercent, automatic_tax: { enabled: sub.isTaxed } },
  })),
  invoice: orNull((invoice: ProviderInvoice) => ({
    ...{ id: invoice.id, object: 'invoice', customer: invoice.customerId, status: invoice.status, metadata: invoice.metadata },
    ...{ number: invoice.number, hosted_invoice_url: invoice.pageUrl, invoice_pdf: invoice.pdfUrl },
    ...{ total: invoice.total.cents, currency: invoice.total.currency, total_taxes: [], amount_paid: invoice.paidCents },
    parent: invoice.subscriptionId === null ? null : { subscription_details: { subscription: invoice.subscriptionId } },
    ...{ created: seconds(invoice.createdAt), due_date: secondsOrNull(invoice.dueAt), collection_method: 'charge_automatically' },
    status_transitions: { finalized_at: secondsOrNull(invoice.finalizedAt) },
    ...{ period_start: seconds(invoice.periodStart), period_end: seconds(invoice.periodEnd) },
    lines: list(
      invoice.lines.map((line) => ({
        ...{ id: line.id, description: line.description, amount: line.cents, metadata: line.metadata },
        parent: line.invoiceItemId === null ? null : { invoice_item_details: { invoice_item: line.invoiceItemId } },
        period: { start: seconds(line.periodStart), end: seconds(line.periodEnd) },
      })),
    ),
  })),
  payment: (invoice: ProviderInvoice) => ({
    ...{ id: `inpay_${invoice.id}`, object: 'invoice_payment', invoice: invoice.id },
    payment: { type: 'payment_intent', payment_intent: { id: intentIdOf(invoice.id), latest_charge: chargeOf(invoice) } },
  }),
  invoiceItem: (item: ProviderInvoiceItem) => ({
    ...{ id: item.id, object: 'invoiceitem', customer: item.customerId, amount: item.amount.cents, currency: item.amount.currency },
    ...{ description: item.description, invoice: item.invoiceId, metadata: item.metadata },
  }),
}
