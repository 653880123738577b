/**
 * `declined`: the customer's means of payment was refused. `invalid`: the provider rejects the request; a retry gets the same answer.
 * `not_found`: the object does not exist. `failed`: the provider answered with an error of its own, and replays that answer for the key.
 * `unreachable`: no answer, or the provider is busy; the request may have been carried out. `off`: no provider is configured.
 */
export type PaymentFailureKind = 'declined' | 'invalid' | 'not_found' | 'failed' | 'unreachable' | 'off'

/** A call of the provider that did not succeed. The message holds no secret and no card data. */
export class PaymentFailure extends Error {
  readonly kind: PaymentFailureKind

  constructor(kind: PaymentFailureKind, message: string) {
    super(message)
    this.name = 'PaymentFailure'
    this.kind = kind
  }

  /** Whether the call may be repeated, with the same key or (`failed`) the next one. */
  get isRetryable(): boolean {
    return this.kind === 'failed' || this.kind === 'unreachable'
  }
}

export const paymentFailure = (kind: PaymentFailureKind, message: string): PaymentFailure => new PaymentFailure(kind, message)

export const isPaymentFailure = (error: unknown, kind?: PaymentFailureKind): error is PaymentFailure =>
  error instanceof PaymentFailure && (kind === undefined || error.kind === kind)
