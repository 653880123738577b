import { Webhook } from 'standardwebhooks'
import { type AlertMessage, webhookBody } from '../../core/alerts/index.ts'
import { type Clock, forbiddenPort, problem } from '../../core/kit/index.ts'
import { settlingFetch } from '../../node/index.ts'

const timeoutMs = 10_000

type Deps = Readonly<{ clock: Clock; daemonUrl: string }>
type Hook = Readonly<{ url: string; secret: string }>

/**
 * Posts a message signed as Standard Webhooks. Only 2xx counts as delivered; redirects are not followed, because their target was not configured.
 * Throws UNAVAILABLE; neither the secret nor the path is part of the error.
 */
export async function sendWebhook(
  { clock, daemonUrl }: Deps,
  { url, secret }: Hook,
  { message, id, signal }: Readonly<{ message: AlertMessage; id: string; signal?: AbortSignal | undefined }>,
) {
  const address = new URL(url)
  const { origin } = address
  const never = forbiddenPort(address)
  if (never) throw problem('UNAVAILABLE', `the webhook at ${origin} cannot be called: ${never} (setting alerts.webhook.url)`)
  const body = JSON.stringify(webhookBody(message, daemonUrl))
  const at = clock.now()
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'tenantry',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
  const limit = AbortSignal.timeout(timeoutMs)
  const call = { method: 'POST', headers, body, redirect: 'manual' as const, signal: signal ? AbortSignal.any([signal, limit]) : limit }
  const response = await settlingFetch(url, call).catch((error: FetchError) => {
    throw problem('UNAVAILABLE', `the webhook at ${origin} does not answer (${reasonOf(error)})`)
  })
  await response.body?.cancel()
  if (!response.ok) throw problem('UNAVAILABLE', `the webhook at ${origin} answered ${response.status}`)
  return `${origin} answered ${response.status}`
}

type FetchError = Error & Readonly<{ cause?: Readonly<{ code?: string }> }>

const reasonOf = ({ name, cause }: FetchError): string => (name === 'TimeoutError' ? 'no answer in 10 s' : (cause?.code ?? name))
