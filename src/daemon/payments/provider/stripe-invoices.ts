import type Stripe from 'stripe'
import { daysUntilDue, type PaymentProvider } from '../../../core/payments/index.ts'
import { asFailure, orNull } from './stripe-failures.ts'
import {
  chargesOf,
  idOrNull,
  isLost,
  isWon,
  toDispute,
  toInvoice,
  toInvoiceItem,
  toListedInvoice,
  toRefund,
  toTransfer,
} from './stripe-records.ts'
import type { Collection } from './stripe-subscriptions.ts'

type InvoiceCalls = Pick<
  PaymentProvider,
  | 'reportUsage'
  | 'createInvoice'
  | 'finishInvoice'
  | 'payInvoice'
  | 'createInvoiceItem'
  | 'deleteInvoiceItem'
  | 'listInvoiceItems'
  | 'getInvoice'
  | 'getCharge'
  | 'getDispute'
  | 'getRefund'
  | 'listInvoices'
  | 'refundInvoice'
  | 'voidInvoice'
  | 'createTransfer'
  | 'listTransfers'
>

/** Four levels, the most that the provider expands. */
const expandedCharges = ['data.payment.payment_intent.latest_charge']

/** Usage, invoices, refunds and transfers. */
export const stripeInvoices = (stripe: Stripe, { collection, automaticTax }: Collection): InvoiceCalls => {
  const inFull = async (invoice: Stripe.Invoice) => {
    if (invoice.amount_paid === 0) return toInvoice(invoice, [])
    const payments = await stripe.invoicePayments.list({ invoice: invoice.id as string, limit: 100, expand: expandedCharges })
    return toInvoice(invoice, payments.data, await disputesOf(payments.data))
  }
  /** A charge stays `disputed` whatever the outcome: only its disputes know it. */
  const disputesOf = async (payments: readonly Stripe.InvoicePayment[]) => {
    const found = { isDisputed: false, isLost: false }
    for (const { id, amount, amount_refunded: refunded } of chargesOf(payments).filter(({ disputed }) => disputed)) {
      const { data } = await stripe.disputes.list({ charge: id, limit: 100 })
      if (data.length === 0 || !data.every(isWon)) found.isDisputed = true
      if (data.some((one) => isLost(one) && one.amount >= amount - refunded)) found.isLost = true
    }
    return found
  }
  const invoiceOf = async (intent: string | null): Promise<string | null> => {
    if (intent === null) return null
    const { data } = await stripe.invoicePayments.list({ payment: { type: 'payment_intent', payment_intent: intent }, limit: 1 })
    return idOrNull(data[0]?.invoice)
  }
  return {
    reportUsage: ({ eventName, customerId, quantity, at, identifier }) =>
      asFailure(async () => {
        const payload = { stripe_customer_id: customerId, value: String(quantity) }
        const timestamp = Math.floor(Date.parse(at) / 1000)
        await stripe.billing.meterEvents.create({ event_name: eventName, payload, timestamp, identifier }, { idempotencyKey: identifier })
      }),
    createInvoice: ({ key, customerId, currency, description, metadata, payout }) =>
      asFailure(async () => {
        const draft = {
          ...{
            customer: customerId,
            currency,
            description,
            metadata,
            auto_advance: false,
            pending_invoice_items_behavior: 'exclude' as const,
          },
          ...(collection === 'invoice'
            ? { collection_method: 'send_invoice' as const, days_until_due: daysUntilDue }
            : { collection_method: 'charge_automatically' as const }),
          // As its subscription: one that pays a vendor has no tax.
          ...(automaticTax && !payout && { automatic_tax: { enabled: true } }),
          ...(payout && { transfer_data: { destination: payout.destination }, application_fee_amount: payout.feeCents }),
        }
        return toInvoice(await stripe.invoices.create(draft, { idempotencyKey: key }), [])
      }),
    finishInvoice: ({ key, invoiceId }) =>
      asFailure(async () => {
        const before = await stripe.invoices.retrieve(invoiceId)
        if (before.status !== 'draft') return inFull(before)
        return inFull(await stripe.invoices.finalizeInvoice(invoiceId, { auto_advance: true }, { idempotencyKey: key }))
      }),
    payInvoice: ({ key, invoiceId }) =>
      asFailure(async () => {
        const before = await stripe.invoices.retrieve(invoiceId)
        if (before.status !== 'open' || before.collection_method !== 'charge_automatically') return inFull(before)
        return inFull(await stripe.invoices.pay(invoiceId, { off_session: true }, { idempotencyKey: key }))
      }),
    createInvoiceItem: ({ key, customerId, amount, description, on, metadata }) =>
      asFailure(async () => {
        const item = { customer: customerId, amount: amount.cents, currency: amount.currency, description, metadata }
        const placed = 'invoiceId' in on ? { ...item, invoice: on.invoiceId } : { ...item, subscription: on.subscriptionId }
        return toInvoiceItem(await stripe.invoiceItems.create(placed, { idempotencyKey: key }))
      }),
    deleteInvoiceItem: async (id) => {
      await orNull(() => stripe.invoiceItems.del(id))
    },
    listInvoiceItems: (customer) =>
      asFailure(async () => {
        const all = []
        for await (const item of stripe.invoiceItems.list({ customer, limit: 100 })) all.push(toInvoiceItem(item))
        return all
      }),
    getInvoice: (id) => orNull(async () => inFull(await stripe.invoices.retrieve(id))),
    getCharge: (id) =>
      orNull(async () => {
        const charge = await stripe.charges.retrieve(id)
        return { id, invoiceId: await invoiceOf(idOrNull(charge.payment_intent)) }
      }),
    getDispute: (id) =>
      orNull(async () => {
        const dispute = await stripe.disputes.retrieve(id, { expand: ['charge'] })
        return toDispute(dispute, await invoiceOf(idOrNull(dispute.payment_intent)))
      }),
    getRefund: (id) =>
      orNull(async () => {
        const refund = await stripe.refunds.retrieve(id)
        return toRefund(refund, await invoiceOf(idOrNull(refund.payment_intent)))
      }),
    listInvoices: ({ customerId, subscriptionId, status }) =>
      asFailure(async () => {
        const all = []
        const filter = {
          customer: customerId,
          ...(subscriptionId && { subscription: subscriptionId }),
          ...(status && { status }),
          limit: 100,
        }
        for await (const invoice of stripe.invoices.list(filter)) all.push(toListedInvoice(invoice))
        return all
      }),
    refundInvoice: ({ key, invoiceId }) =>
      asFailure(async () => {
        let refundedCents = 0
        for await (const { id, payment } of stripe.invoicePayments.list({ invoice: invoiceId, status: 'paid', limit: 100 })) {
          const paid = payment.payment_intent
          const intent = typeof paid === 'object' ? paid.id : paid
          if (!intent) continue
          refundedCents += await refundIntent(stripe, intent, `${key}:${id}`)
        }
        return { refundedCents }
      }),
    voidInvoice: ({ key, invoiceId }) =>
      asFailure(async () => {
        const before = await stripe.invoices.retrieve(invoiceId)
        const isOfSubscription = Boolean(before.parent?.subscription_details)
        if (before.status === 'draft' && !isOfSubscription) {
          await stripe.invoices.del(invoiceId, {}, { idempotencyKey: key })
          return
        }
        // The provider deletes no draft of a subscription. Without `auto_advance` it neither charges nor sends what it finalises.
        const final =
          before.status === 'draft'
            ? await stripe.invoices.finalizeInvoice(invoiceId, { auto_advance: false }, { idempotencyKey: `${key}:finalize` })
            : before
        if (final.status === 'open' || final.status === 'uncollectible')
          await stripe.invoices.voidInvoice(invoiceId, {}, { idempotencyKey: key })
      }),
    createTransfer: ({ key, amount, destination, description, metadata }) =>
      asFailure(async () => {
        const transfer = { amount: amount.cents, currency: amount.currency, destination, description, metadata }
        return toTransfer(await stripe.transfers.create(transfer, { idempotencyKey: key }))
      }),
    listTransfers: (destination) =>
      asFailure(async () => {
        const all = []
        for await (const transfer of stripe.transfers.list({ destination, limit: 100 })) all.push(toTransfer(transfer))
        return all
      }),
  }
}

/** The whole rest of a payment, back from the vendor too; the provider refuses those flags for a payment without a transfer. */
async function refundIntent(stripe: Stripe, id: string, key: string): Promise<number> {
  const { latest_charge } = await stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] })
  const charge = typeof latest_charge === 'object' ? latest_charge : null
  if (!charge || charge.amount_refunded >= charge.amount) return 0
  const hasTransfer = charge.transfer !== null && charge.transfer !== undefined
  const refund = {
    payment_intent: id,
    ...(hasTransfer && { reverse_transfer: true, refund_application_fee: charge.application_fee !== null }),
  }
  return (await stripe.refunds.create(refund, { idempotencyKey: key })).amount
}
