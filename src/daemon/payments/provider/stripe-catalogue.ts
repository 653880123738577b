import type Stripe from 'stripe'
import type { PaymentProvider, ProviderMeter } from '../../../core/payments/index.ts'
import { asFailure, orNull } from './stripe-failures.ts'
import { toPrice } from './stripe-records.ts'

type CatalogueCalls = Pick<PaymentProvider, 'createProduct' | 'ensureMeter' | 'createPrice' | 'getPrice' | 'findPrice' | 'deactivatePrice'>

const toMeter = ({ id, event_name, status }: Stripe.Billing.Meter): ProviderMeter => ({
  id,
  eventName: event_name,
  status: status === 'active' ? 'active' : 'inactive',
})

/** Products, meters and prices. */
export const stripeCatalogue = (stripe: Stripe): CatalogueCalls => ({
  createProduct: ({ key, name, metadata }) =>
    asFailure(async () => {
      const product = await stripe.products.create({ name, metadata }, { idempotencyKey: key })
      return { id: product.id, name: product.name, active: product.active, metadata: product.metadata }
    }),
  ensureMeter: ({ key, eventName, displayName }) =>
    asFailure(async () => {
      for await (const meter of stripe.billing.meters.list({ limit: 100 })) if (meter.event_name === eventName) return toMeter(meter)
      return toMeter(
        await stripe.billing.meters.create(
          {
            display_name: displayName,
            event_name: eventName,
            default_aggregation: { formula: 'sum' },
            // The newest event of a day replaces earlier ones.
            event_time_window: 'day',
            customer_mapping: { type: 'by_id', event_payload_key: 'stripe_customer_id' },
            value_settings: { event_payload_key: 'value' },
          },
          { idempotencyKey: key },
        ),
      )
    }),
  createPrice: ({ key, productId, unit, meterId, lookupKey, metadata }) =>
    asFailure(async () => {
      const recurring = {
        interval: 'month',
        usage_type: meterId === null ? 'licensed' : 'metered',
        ...(meterId && { meter: meterId }),
      } as const
      const price = { product: productId, unit_amount: unit.cents, currency: unit.currency, recurring, metadata }
      return toPrice(await stripe.prices.create({ ...price, lookup_key: lookupKey, transfer_lookup_key: true }, { idempotencyKey: key }))
    }),
  getPrice: (id) => orNull(async () => toPrice(await stripe.prices.retrieve(id))),
  findPrice: (lookupKey) =>
    asFailure(async () => {
      const [price] = (await stripe.prices.list({ lookup_keys: [lookupKey], limit: 1 })).data
      return price ? toPrice(price) : null
    }),
  deactivatePrice: ({ key, id }) =>
    asFailure(async () => void (await stripe.prices.update(id, { active: false }, { idempotencyKey: key }))),
})
