import { problem } from '../../core/kit/index.ts'
import type { MarketplacePayments } from './deps.ts'

const unavailable = async (): Promise<never> => {
  throw problem(
    'PAYMENTS_UNAVAILABLE',
    'Paid items cannot be installed: the platform has no payment provider. fix: ask the operator of your platform to set one up',
  )
}

/** No payment provider is configured: free items work, paid ones cannot be installed. */
export const withoutPayments: MarketplacePayments = {
  currency: 'eur',
  vendorCreated: async () => {},
  priceChanged: async () => {},
  termsChanged: async () => {},
  endsChanged: async () => {},
  assertBuyable: unavailable,
  installPaid: unavailable,
  cancelled: async (_, { paidUntil }) => paidUntil,
}
