import Stripe from 'stripe'
import { expect, test } from 'vitest'
import { asFailure } from '../../../src/daemon/payments/provider/stripe-failures.ts'

type Raw = Readonly<{ statusCode: number; message: string; code?: string }>

const failureOf = (raw: Raw) =>
  asFailure(async () => {
    throw Stripe.errors.generateV1Error({ type: 'invalid_request_error', ...raw } as never)
  }).catch((error) => error)

test.each<[string, Raw, Readonly<{ kind: string; isTransient: boolean; isRetryable: boolean }>]>([
  [
    'expired key',
    { statusCode: 401, message: 'Expired API Key provided: sk_live_abc' },
    { kind: 'denied', isTransient: false, isRetryable: true },
  ],
  ['missing permission', { statusCode: 403, message: 'not allowed' }, { kind: 'denied', isTransient: false, isRetryable: true }],
  [
    'account that was deleted',
    { statusCode: 403, message: 'no access to account', code: 'account_invalid' },
    { kind: 'not_found', isTransient: false, isRetryable: false },
  ],
  ['rejected request', { statusCode: 400, message: 'no such field' }, { kind: 'invalid', isTransient: false, isRetryable: false }],
  ['busy', { statusCode: 429, message: 'rate limit' }, { kind: 'unreachable', isTransient: true, isRetryable: true }],
])('the provider answers with %s', async (_, raw, expected) => {
  const failure = await failureOf(raw)
  expect(failure).toMatchObject(expected)
  expect(failure.message).not.toContain('sk_live')
})
