import Stripe from 'stripe'
import type { Secret } from '../../../core/kit/index.ts'
import type { PaymentProvider } from '../../../core/payments/index.ts'
import { stripeAccounts } from './stripe-accounts.ts'
import { stripeCatalogue } from './stripe-catalogue.ts'
import { stripeInvoices } from './stripe-invoices.ts'
import { type Collection, stripeSubscriptions } from './stripe-subscriptions.ts'

type Options = Collection &
  Readonly<{ currency: string; secretKey: Secret; api: string | undefined; verifyEvent: PaymentProvider['verifyEvent'] }>

const timeoutMs = 20_000

/** Stripe behind the port. The SDK repeats a request that got no answer twice; keys make that safe. */
export function stripeProvider({ secretKey, api, verifyEvent, ...collection }: Options): PaymentProvider {
  const stripe = new Stripe(secretKey.reveal(), { ...addressOf(api), maxNetworkRetries: 2, timeout: timeoutMs, telemetry: false })
  return {
    name: 'stripe',
    ...stripeAccounts(stripe, collection),
    ...stripeCatalogue(stripe),
    ...stripeSubscriptions(stripe, collection),
    ...stripeInvoices(stripe, collection),
    verifyEvent,
  }
}

function addressOf(api: string | undefined) {
  if (api === undefined) return {}
  const { protocol, hostname, port } = new URL(api)
  const isHttp = protocol === 'http:'
  return { host: hostname, port: port || (isHttp ? 80 : 443), protocol: isHttp ? 'http' : 'https' } as const
}
