import type Stripe from 'stripe'
import { daysUntilDue, type PaymentProvider, paymentFailure } from '../../../core/payments/index.ts'
import { asFailure, orNull } from './stripe-failures.ts'
import { toSubscription } from './stripe-records.ts'

type SubscriptionCalls = Pick<
  PaymentProvider,
  'createSubscription' | 'getSubscription' | 'listSubscriptions' | 'updateSubscription' | 'cancelSubscription'
>

export type Collection = Readonly<{ collection: 'charge' | 'invoice'; automaticTax: boolean }>

type Payout = Readonly<{ destination: string; applicationFeePercent: number }> | null | undefined

const payoutOf = (payout: Payout): Pick<Stripe.SubscriptionUpdateParams, 'transfer_data' | 'application_fee_percent'> => {
  if (payout === undefined) return {}
  if (payout === null) return { transfer_data: '', application_fee_percent: '' }
  return { transfer_data: { destination: payout.destination }, application_fee_percent: payout.applicationFeePercent }
}

/** `charge` refuses the subscription when the customer cannot be charged; `invoice` sends invoices. */
const collectionOf = (collection: Collection['collection']): Partial<Stripe.SubscriptionCreateParams> =>
  collection === 'invoice'
    ? { collection_method: 'send_invoice', days_until_due: daysUntilDue }
    : { collection_method: 'charge_automatically', off_session: true, payment_behavior: 'error_if_incomplete' }

/** The set-up page stores a means of payment but makes none the default, and only a default is charged. */
async function ensureMeansOfPayment(stripe: Stripe, customer: string): Promise<void> {
  const known = await stripe.customers.retrieve(customer)
  if ('deleted' in known && known.deleted) throw paymentFailure('not_found', `The payment customer ${customer} was deleted`)
  if ((known as Stripe.Customer).invoice_settings.default_payment_method) return
  const [method] = (await stripe.customers.listPaymentMethods(customer, { limit: 1 })).data
  if (!method) throw paymentFailure('declined', 'The customer has no means of payment')
  await stripe.customers.update(customer, { invoice_settings: { default_payment_method: method.id } })
}

export const stripeSubscriptions = (stripe: Stripe, { collection, automaticTax }: Collection): SubscriptionCalls => ({
  createSubscription: ({ key, customerId, priceId, metered, payout, anchor, description, metadata }) =>
    asFailure(async () => {
      if (collection === 'charge') await ensureMeansOfPayment(stripe, customerId)
      const created = await stripe.subscriptions.create(
        {
          customer: customerId,
          items: [metered ? { price: priceId } : { price: priceId, quantity: 1 }],
          ...(payout && { transfer_data: { destination: payout.destination }, application_fee_percent: payout.applicationFeePercent }),
          ...(anchor && { billing_cycle_anchor_config: { day_of_month: anchor.dayOfMonth, hour: anchor.hour, minute: 0, second: 0 } }),
          ...collectionOf(collection),
          ...(automaticTax && { automatic_tax: { enabled: true } }),
          description,
          metadata,
        },
        { idempotencyKey: key },
      )
      return toSubscription(created)
    }),
  getSubscription: (id) => orNull(async () => toSubscription(await stripe.subscriptions.retrieve(id))),
  // A customer that was deleted at the provider has no subscriptions: they ended with it.
  listSubscriptions: async (customer) =>
    (await orNull(async () => {
      const all = []
      for await (const sub of stripe.subscriptions.list({ customer, status: 'all', limit: 100 })) all.push(toSubscription(sub))
      return all
    })) ?? [],
  updateSubscription: ({ key, id, payout, cancelAtPeriodEnd, metadata }) =>
    asFailure(async () => {
      const change = {
        ...payoutOf(payout),
        ...(cancelAtPeriodEnd === undefined ? {} : { cancel_at_period_end: cancelAtPeriodEnd }),
        ...(metadata && { metadata }),
      }
      return toSubscription(await stripe.subscriptions.update(id, change, { idempotencyKey: key }))
    }),
  cancelSubscription: ({ key, id }) =>
    asFailure(async () => {
      const before = await stripe.subscriptions.retrieve(id)
      if (before.status === 'canceled' || before.status === 'incomplete_expired') return toSubscription(before)
      return toSubscription(await stripe.subscriptions.cancel(id, { invoice_now: false, prorate: false }, { idempotencyKey: key }))
    }),
})
