import { Webhook } from 'standardwebhooks'
import { type AlertMessage, webhookBody } from '../../core/alerts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { callReceiver } from './call-receiver.ts'

type Deps = Readonly<{ clock: Clock; daemonUrl: string }>
type Hook = Readonly<{ url: string; secret: string }>

/** Posts a message signed as Standard Webhooks. Throws UNAVAILABLE. */
export async function sendWebhook(
  { clock, daemonUrl }: Deps,
  { url, secret }: Hook,
  { message, id, signal }: Readonly<{ message: AlertMessage; id: string; signal?: AbortSignal | undefined }>,
): Promise<string> {
  const body = JSON.stringify(webhookBody(message, daemonUrl))
  const at = clock.now()
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
  return callReceiver({ who: 'the webhook', setting: 'alerts.webhook.url', url, headers, body, signal })
}
