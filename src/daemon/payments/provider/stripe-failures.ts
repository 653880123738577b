import Stripe from 'stripe'
import { printable } from '../../../core/kit/index.ts'
import { isPaymentFailure, type PaymentFailure, paymentFailure } from '../../../core/payments/index.ts'

/** An error of the SDK as a failure of the port. The message is the provider's, without keys and addresses of requests. */
function failureOf(error: unknown): PaymentFailure {
  if (isPaymentFailure(error)) return error
  if (!(error instanceof Stripe.errors.StripeError)) throw error
  const message = `The payment provider reports: ${withoutKeys(printable(error.message)).slice(0, 300)}`
  if (error instanceof Stripe.errors.StripeCardError) return paymentFailure('declined', message)
  if (error instanceof Stripe.errors.StripeConnectionError || error.statusCode === 429 || error.statusCode === 409)
    return paymentFailure('unreachable', 'The payment provider did not answer or is busy')
  if (error.statusCode === 402) return paymentFailure('declined', message)
  // 403 for a connected account that was deleted.
  const isGone = error.statusCode === 404 || error.code === 'resource_missing' || error.code === 'account_invalid'
  if (isGone) return paymentFailure('not_found', message)
  if (error.statusCode === 401 || error.statusCode === 403) return paymentFailure('denied', message)
  if (error.statusCode === undefined || error.statusCode >= 500)
    return paymentFailure('failed', 'The payment provider reports an internal error')
  return paymentFailure('invalid', message)
}

const withoutKeys = (text: string): string => text.replace(/\b(sk|rk|pk|whsec)_[A-Za-z0-9_*]+/g, '[secret]')

/** Runs a call; every error leaves as a PaymentFailure. */
export const asFailure = async <Value>(call: () => Promise<Value>): Promise<Value> => {
  try {
    return await call()
  } catch (error) {
    throw failureOf(error)
  }
}

/** Null for an object that does not exist. */
export const orNull = async <Value>(call: () => Promise<Value>): Promise<Value | null> => {
  try {
    return await call()
  } catch (error) {
    const failure = failureOf(error)
    if (failure.kind === 'not_found') return null
    throw failure
  }
}
