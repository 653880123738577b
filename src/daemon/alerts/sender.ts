import { messageText, subjectLine } from '../../core/alerts/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'
import type { Mailer } from '../mail/index.ts'
import type { AlertSettings } from './channels.ts'
import type { Send } from './deps.ts'
import { sendWebhook } from './send-webhook.ts'

type Deps = Readonly<{ clock: Clock; mailer: Mailer; daemonUrl: string; settings: AlertSettings }>

/** Joins channels to what carries their messages. */
export const makeSender =
  ({ clock, mailer, daemonUrl, settings }: Deps): Send =>
  async ({ channel, target }, message, id, signal) => {
    if (channel === 'mail') {
      const mail = { id, to: target, subject: subjectLine(message), text: messageText(message, daemonUrl) }
      return mailer.send({ ...mail, urgent: message.severity === 'critical' }, signal)
    }
    if (!settings.webhook) throw problem('UNAVAILABLE', 'no webhook is set any more')
    return sendWebhook({ clock, daemonUrl }, settings.webhook, message, id, signal)
  }
