import { secret } from '../../../src/core/kit/index.ts'
import { isPaymentFailure, type PaymentProvider } from '../../../src/core/payments/index.ts'
import { eventVerifier } from '../../../src/daemon/payments/index.ts'
import { stripeProvider } from '../../../src/daemon/payments/provider/stripe-provider.ts'
import { aStripeMock, hasStripeMock } from './stripe-mock.ts'

/** The provider, and each call of it also sent by the real SDK to stripe-mock: a call that the provider's document does not allow fails. */
export async function shapedProvider(provider: PaymentProvider, whenOver: (close: () => void) => void) {
  const shaped = new Set<string>()
  if (!hasStripeMock) return { provider, shaped }
  const real = stripeProvider({
    ...{ secretKey: secret('sk_test_123'), api: await aStripeMock(whenOver), currency: 'eur', collection: 'charge', automaticTax: false },
    verifyEvent: eventVerifier([]),
  })
  const calls = Object.entries(provider).map(([name, call]) => {
    if (typeof call !== 'function' || name === 'verifyEvent') return [name, call]
    const both = async (...given: unknown[]) => {
      const other = real[name as keyof PaymentProvider] as unknown as (...given: unknown[]) => Promise<unknown>
      await other(...given).catch((error: unknown) => {
        if (isPaymentFailure(error, 'invalid')) throw new Error(`${name}: ${error.message}`)
      })
      shaped.add(name)
      return (call as (...given: unknown[]) => unknown)(...given)
    }
    return [name, both]
  })
  return { provider: Object.fromEntries(calls) as PaymentProvider, shaped }
}
