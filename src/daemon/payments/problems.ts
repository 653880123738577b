import { isProblem, type Problem, problem } from '../../core/kit/index.ts'
import { isPaymentFailure, type PaymentFailure } from '../../core/payments/index.ts'
import type { SagaError } from '../../core/saga/index.ts'

/** A failure of the provider as callers of the API get it. */
function problemOf(failure: PaymentFailure): Problem {
  if (failure.kind === 'off') return problem('PAYMENTS_UNAVAILABLE', failure.message)
  if (failure.isTransient)
    return problem('PAYMENTS_UNAVAILABLE', `${failure.message}. fix: repeat the request; nothing is charged twice`, { cause: failure })
  if (isRejected(failure))
    return problem(
      'PAYMENTS_UNAVAILABLE',
      `${failure.message}. A repeated request gets the same answer. fix: the operator checks the permissions of the key and the account at the payment provider`,
      { cause: failure, retryable: false },
    )
  return problem('PAYMENT_FAILED', `${failure.message}. Nothing was charged. fix: update the means of payment with the operator`, {
    cause: failure,
  })
}

/** The provider rejects the request itself, whatever the means of payment: an operator has to remove the cause. */
export const isRejected = (error: unknown): error is PaymentFailure & Readonly<{ kind: 'invalid' | 'not_found' | 'denied' }> =>
  isPaymentFailure(error, 'invalid') || isPaymentFailure(error, 'not_found') || isPaymentFailure(error, 'denied')

/** Runs a call of the provider for an API request. */
export const orProblem = async <Value>(call: () => Promise<Value>): Promise<Value> => {
  try {
    return await call()
  } catch (error) {
    throw isPaymentFailure(error) ? problemOf(error) : error
  }
}

export const sagaErrorOf = (error: unknown): SagaError => {
  const one = isPaymentFailure(error) ? problemOf(error) : error
  const refused = isRejected(error) ? ({ retryable: false } as const) : {}
  return isProblem(one) ? { code: one.code, message: one.message, ...refused } : { code: 'INTERNAL', message: 'internal error' }
}
