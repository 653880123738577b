import { Webhook } from 'standardwebhooks'
import {
  type AlertChannel,
  type AlertMessage,
  type ChannelRules,
  messageText,
  noRules,
  subjectLine,
  webhookBody,
} from '../../core/alerts/index.ts'
import { type Clock, type Problem, problem } from '../../core/kit/index.ts'
import type { ChannelSettings, Config } from '../config/index.ts'
import type { Db } from '../db/index.ts'
import type { Mailer } from '../mail/index.ts'
import { callReceiver } from './call-receiver.ts'
import { sendToService } from './send-to-service.ts'

/** Names one recipient. `target` is safe to show: for the webhook only the origin, because its path may be secret. */
export type Recipient = Readonly<{ channel: AlertChannel; target: string }>

/** One recipient with its rules. The addresses of `mail` share a name. `address` is safe to show. */
export type Channel = Recipient & Readonly<{ name: string; address: string; rules: ChannelRules }>

type AlertSettings = Pick<Config['alerts'], 'mailTo' | 'webhook' | 'channels' | 'rules'>

/** One channel per mail address, so that one unreachable recipient does not delay or repeat the others. */
export function channelsOf({ mailTo, webhook, channels, rules }: AlertSettings, timeZone: string): Channel[] {
  const rulesOf = (name: string): ChannelRules => ({ ...noRules(timeZone), ...rules[name] })
  return [
    ...[...new Set(mailTo)].map((target) => ({ channel: 'mail', target, name: 'mail', address: target, rules: rulesOf('mail') }) as const),
    ...(webhook ? [webhookChannel(webhook.url, rulesOf('webhook'))] : []),
    ...channels.map((one) => ({ channel: one.form, target: one.name, name: one.name, address: addressOf(one), rules: rulesOf(one.name) })),
  ]
}

const webhookChannel = (url: string, rules: ChannelRules): Channel => {
  const { origin } = new URL(url)
  return { channel: 'webhook', target: origin, name: 'webhook', address: origin, rules }
}

function addressOf(channel: ChannelSettings): string {
  if (channel.form === 'matrix') return `${channel.room} at ${new URL(channel.url).origin}`
  return channel.url === undefined ? `address in ${channel.form === 'slack' ? channel.urlFile : ''}` : new URL(channel.url).origin
}

/** Sends one message under an id that a resend keeps. Returns a description of the receiver; throws UNAVAILABLE without a secret. */
type Send = (recipient: Recipient, alert: Readonly<{ id: string; message: AlertMessage }>, signal?: AbortSignal) => Promise<string>

export type AlertsDeps = Readonly<{
  db: Db
  clock: Clock
  channels: readonly Channel[]
  /** A repeated open alert is sent again after this. */
  repeatAfterMs: number
  send: Send
}>

export const noChannels = (): Problem =>
  problem(
    'CONFIG',
    'no alert recipients configured. fix: set alerts.channels, TENANTRY_ALERTS_MAIL_TO, or TENANTRY_ALERTS_WEBHOOK_URL and …_SECRET, and restart the daemon',
  )

type SenderDeps = Readonly<{ clock: Clock; mailer: Mailer; daemonUrl: string; settings: AlertSettings }>

/** Sends each message in the form of its channel. */
export const makeSender =
  ({ clock, mailer, daemonUrl, settings }: SenderDeps): Send =>
  async ({ channel, target }, { id, message }, signal) => {
    if (channel === 'mail') {
      const mail = { id, to: target, subject: subjectLine(message), text: messageText(message, daemonUrl) }
      return mailer.send({ ...mail, urgent: message.severity === 'critical' }, signal)
    }
    if (channel === 'webhook') {
      if (!settings.webhook) throw problem('UNAVAILABLE', 'no webhook is configured any more')
      return sendWebhook({ clock, daemonUrl }, settings.webhook, { message, id, signal })
    }
    const service = settings.channels.find(({ name }) => name === target)
    if (!service) throw problem('UNAVAILABLE', `the channel ${target} is no longer configured`)
    return sendToService({ clock, daemonUrl }, service, { message, id, signal })
  }

type Deps = Readonly<{ clock: Clock; daemonUrl: string }>
type Hook = Readonly<{ url: string; secret: string }>

/** Posts a message signed as Standard Webhooks. Throws UNAVAILABLE. */
async function sendWebhook(
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
