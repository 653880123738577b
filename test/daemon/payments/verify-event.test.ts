import Stripe from 'stripe'
import { expect, test } from 'vitest'
import { secret } from '../../../src/core/kit/index.ts'
import { eventVerifier } from '../../../src/daemon/payments/index.ts'
import { signedEvent, testWebhookSecrets } from '../../support/payments/provider-double.ts'

const now = new Date('2026-03-04T05:06:07.000Z')
const verify = eventVerifier([
  { endpoint: 'platform', secret: secret(testWebhookSecrets.platform) },
  { endpoint: 'platform', secret: secret('whsec_next') },
  { endpoint: 'connect', secret: secret(testWebhookSecrets.connect) },
  { endpoint: 'thin', secret: secret(testWebhookSecrets.thin) },
])
const event = { id: 'evt_1', type: 'account.updated', objectKind: 'account', objectId: 'acct_1', createdAt: '2026-03-04T05:06:00.000Z' }

test.each(['platform', 'connect', 'thin'] as const)('an event of the endpoint %s', (endpoint) => {
  expect(verify({ ...signedEvent(event, { now, endpoint }), now })).toMatchObject({ ...event, endpoint, livemode: false })
})

test('a header made by the SDK is accepted, with a second secret of the endpoint', () => {
  const body = signedEvent(event, { now }).body
  const timestamp = Math.floor(now.getTime() / 1000)
  const signature = Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret: 'whsec_next', timestamp })
  expect(verify({ body, signature, now })).toMatchObject({ id: 'evt_1', endpoint: 'platform' })
})

test.each([
  ['300 s old', 300, true],
  ['301 s old', 301, false],
  ['300 s ahead', -300, true],
  ['301 s ahead', -301, false],
])('%s', (_, seconds, accepted) => {
  const signed = signedEvent(event, { now: new Date(now.getTime() - seconds * 1000) })
  if (accepted) expect(verify({ ...signed, now }).id).toBe('evt_1')
  else expect(() => verify({ ...signed, now })).toThrow(expect.objectContaining({ kind: 'invalid' }))
})

const { body, signature } = signedEvent(event, { now })
const other = 'f'.repeat(64)
test.each<[string, Uint8Array, string]>([
  ['a changed body', Buffer.from(body.toString().replace('acct_1', 'acct_2')), signature],
  ['a changed time', body, signature.replace(/^t=\d+/, `t=${Math.floor(now.getTime() / 1000) + 1}`)],
  ['another signature', body, signature.replace(/v1=.*/, `v1=${other}`)],
  ['another scheme', body, signature.replace('v1=', 'v0=')],
  ['no header', body, ''],
  ['no signature', body, signature.split(',')[0] as string],
  ['a thin event signed for the platform', signedEvent(event, { now, endpoint: 'thin' }).body, signature],
])('%s is refused', (_, sent, header) => {
  expect(() => verify({ body: sent, signature: header, now })).toThrow(expect.objectContaining({ kind: 'invalid' }))
})

test('a snapshot event with the secret of the thin endpoint is refused', () => {
  const thin = Stripe.webhooks.generateTestHeaderString({
    payload: body.toString(),
    secret: testWebhookSecrets.thin,
    timestamp: Math.floor(now.getTime() / 1000),
  })
  expect(() => verify({ body, signature: thin, now })).toThrow('its form is another')
})

test('a forged event costs one digest for each secret, and none with a time that is off', () => {
  let digests = 0
  const counted = eventVerifier(
    ['whsec_a', 'whsec_b'].map((text) => {
      const reveal = () => {
        digests++
        return text
      }
      return { endpoint: 'platform' as const, secret: { ...secret(text), reveal } as ReturnType<typeof secret> }
    }),
  )
  const forged = (seconds: number) => () => counted({ body, signature: `t=${seconds},${Array(19).fill(`v1=${other}`).join(',')}`, now })
  expect(forged(Math.floor(now.getTime() / 1000))).toThrow('does not match any webhook secret')
  expect(digests).toBe(2)
  expect(forged(1)).toThrow('the limit is 300 s')
  expect(digests).toBe(2)
})
