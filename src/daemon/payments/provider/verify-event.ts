import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../../core/kit/index.ts'
import { type PaymentProvider, type ProviderEvent, paymentFailure, type WebhookEndpoint } from '../../../core/payments/index.ts'

/** Secrets by endpoint; several of one endpoint while a secret is rotated. */
export type WebhookSecrets = readonly Readonly<{ endpoint: WebhookEndpoint; secret: Secret }>[]

const toleranceSeconds = 300

/**
 * Verifies the signature of the raw body (`t=<seconds>,v1=<hex>`) and its time, both ways. The SDK checks only that an event is not too old,
 * and against one secret.
 */
export const eventVerifier =
  (secrets: WebhookSecrets): PaymentProvider['verifyEvent'] =>
  ({ body, signature, now }) => {
    const { seconds, digests } = signatureParts(signature)
    // Anyone may send a body: its time is checked before a digest is computed, once for each secret.
    const offSeconds = Math.floor(now.getTime() / 1000) - Number(seconds)
    if (Math.abs(offSeconds) > toleranceSeconds)
      throw paymentFailure(
        'invalid',
        `The event was signed ${Math.abs(offSeconds)} s ${offSeconds > 0 ? 'ago' : 'ahead'}; the limit is ${toleranceSeconds} s`,
      )
    const signed = secrets.find(({ secret }) => {
      const expected = digestOf(secret, seconds, body)
      return digests.some((digest) => isEqual(digest, expected))
    })
    if (!signed) throw paymentFailure('invalid', 'The signature of the event does not match any webhook secret')
    return eventOf(body, signed.endpoint)
  }

function signatureParts(signature: string): { seconds: string; digests: readonly string[] } {
  const pairs = signature.split(',', 20).map((part) => part.trim().split('=', 2))
  const seconds = pairs.find(([key]) => key === 't')?.[1] ?? ''
  const digests = pairs.flatMap(([key, value]) => (key === 'v1' && value !== undefined && /^[0-9a-f]{64}$/.test(value) ? [value] : []))
  if (!/^[0-9]{1,12}$/.test(seconds) || digests.length === 0)
    throw paymentFailure('invalid', 'The signature header of the event is missing or malformed')
  return { seconds, digests }
}

const digestOf = (secret: Secret, seconds: string, body: Uint8Array): string =>
  createHmac('sha256', secret.reveal()).update(`${seconds}.`).update(body).digest('hex')

const isEqual = (left: string, right: string): boolean => timingSafeEqual(Buffer.from(left), Buffer.from(right))

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value.slice(0, 255) : null)

/** Snapshot events carry the object in `data.object`, thin events its id in `related_object`. */
function eventOf(body: Uint8Array, endpoint: WebhookEndpoint): ProviderEvent {
  const event = parsed(body)
  const isThin = event.object === 'v2.core.event'
  if (isThin !== (endpoint === 'thin'))
    throw paymentFailure('invalid', `The event is signed with the secret of the ${endpoint} endpoint, but its form is another`)
  const object = fieldsOf(isThin ? event.related_object : fieldsOf(event.data).object)
  const [id, type] = [textOf(event.id), textOf(event.type)]
  if (id === null || type === null) throw paymentFailure('invalid', 'The event has no id or no type')
  return {
    id,
    type,
    endpoint,
    objectKind: textOf(isThin ? object.type : object.object),
    objectId: textOf(object.id),
    createdAt: timeOf(event.created),
    livemode: event.livemode === true,
  }
}

function parsed(body: Uint8Array): Fields {
  try {
    return fieldsOf(JSON.parse(Buffer.from(body).toString('utf8')))
  } catch {
    throw paymentFailure('invalid', 'The body of the event is not JSON')
  }
}

/** Seconds in snapshot events, ISO 8601 in thin ones. */
function timeOf(created: unknown): string {
  const time = typeof created === 'number' ? new Date(created * 1000) : new Date(String(created))
  if (Number.isNaN(time.getTime())) throw paymentFailure('invalid', 'The event has no time of creation')
  return time.toISOString()
}
