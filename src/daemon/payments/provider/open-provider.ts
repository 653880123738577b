import type { PaymentProvider } from '../../../core/payments/index.ts'
import type { Config } from '../../config/index.ts'
import { noProvider } from './no-provider.ts'
import { eventVerifier } from './verify-event.ts'

type Settings = Pick<Config, 'stripe' | 'payments'>

/** The provider that the settings name. The SDK is loaded only for a daemon that has a key. */
export async function openPaymentProvider({ stripe, payments }: Settings): Promise<PaymentProvider> {
  if (!stripe.secretKey) return noProvider
  const { stripeProvider } = await import('./stripe-provider.ts')
  return stripeProvider({ ...payments, secretKey: stripe.secretKey, api: stripe.api, verifyEvent: eventVerifier(stripe.webhookSecrets) })
}
