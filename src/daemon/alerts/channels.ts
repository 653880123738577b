import { type AlertChannel, type AlertMessage, messageText, subjectLine } from '../../core/alerts/index.ts'

import { type Clock, type Problem, problem } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'

import type { Mailer } from '../mail/index.ts'
import { sendWebhook } from './send-webhook.ts'

/** One recipient. `target` is safe to show: for the webhook only the origin, because its path may be secret. */
export type Channel = Readonly<{ channel: AlertChannel; target: string }>

type AlertSettings = Readonly<{
  mailTo: readonly string[]
  webhook?: Readonly<{ url: string; secret: string }> | undefined
  repeatAfterMs: number
}>

/** One channel per mail address, so that one unreachable recipient does not delay or repeat the others. */
export const channelsOf = ({ mailTo, webhook }: Pick<AlertSettings, 'mailTo' | 'webhook'>): Channel[] => [
  ...[...new Set(mailTo)].map((target) => ({ channel: 'mail', target }) as const),
  ...(webhook ? [{ channel: 'webhook', target: new URL(webhook.url).origin } as const] : []),
]

/** Sends one message under an id that a resend keeps. Returns a description of the receiver; throws UNAVAILABLE without a secret. */
type Send = (channel: Channel, alert: Readonly<{ id: string; message: AlertMessage }>, signal?: AbortSignal) => Promise<string>

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
    'no alert recipients configured. fix: set TENANTRY_ALERTS_MAIL_TO, or TENANTRY_ALERTS_WEBHOOK_URL and …_SECRET, and restart the daemon',
  )

type SenderDeps = Readonly<{ clock: Clock; mailer: Mailer; daemonUrl: string; settings: AlertSettings }>

/** Sends each message by its channel: mail or webhook. */
export const makeSender =
  ({ clock, mailer, daemonUrl, settings }: SenderDeps): Send =>
  async ({ channel, target }, { id, message }, signal) => {
    if (channel === 'mail') {
      const mail = { id, to: target, subject: subjectLine(message), text: messageText(message, daemonUrl) }
      return mailer.send({ ...mail, urgent: message.severity === 'critical' }, signal)
    }
    if (!settings.webhook) throw problem('UNAVAILABLE', 'no webhook is configured any more')
    return sendWebhook({ clock, daemonUrl }, settings.webhook, { message, id, signal })
  }
