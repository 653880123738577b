/**
 * `declined`: the customer's means of payment was refused. `invalid`: the provider rejects the request; a retry gets the same answer.
 * `not_found`: the object does not exist. `failed`: the provider answered with an error of its own, and replays that answer for the key.
 * `unreachable`: no answer, or the provider is busy; the request may have been carried out. `denied`: the provider rejects the key, or the key has
 * not the permission. `off`: no provider is configured.
 */
export type PaymentFailureKind = 'declined' | 'invalid' | 'not_found' | 'failed' | 'unreachable' | 'denied' | 'off'

/** A call of the provider that did not succeed. The message holds no secret and no card data. */
export class PaymentFailure extends Error {
  readonly kind: PaymentFailureKind

  constructor(kind: PaymentFailureKind, message: string) {
    super(message)
    this.name = 'PaymentFailure'
    this.kind = kind
  }

  /** Whether it ends by itself: the call may be repeated, with the same idempotency key or (`failed`) the next one. */
  get isTransient(): boolean {
    return this.kind === 'failed' || this.kind === 'unreachable'
  }

  /** Whether a job repeats the call for as long as it takes: also while an operator has to set another key. */
  get isRetryable(): boolean {
    return this.isTransient || this.kind === 'denied' || this.kind === 'off'
  }
}

export const paymentFailure = (kind: PaymentFailureKind, message: string): PaymentFailure => new PaymentFailure(kind, message)

export const isPaymentFailure = (error: unknown, kind?: PaymentFailureKind): error is PaymentFailure =>
  error instanceof PaymentFailure && (kind === undefined || error.kind === kind)
