import { join } from 'node:path'
import type { Clock } from '../../core/kit/index.ts'
import { folderMailer } from './folder-mailer.ts'
import { smtpMailer } from './smtp-mailer.ts'

export type Mail = Readonly<{
  /** Lower-case letters, digits, `_`. A mail that is sent twice keeps its id, so that receivers can drop duplicates. */
  id: string
  to: string
  subject: string
  text: string
  /** The same as HTML. All texts of people in it are escaped. */
  html?: string
  urgent?: boolean
}>

/** Where mail goes. `send` says in words where to; it throws UNAVAILABLE without a secret in it, and may be called again. */
export type Mailer = Readonly<{ send(mail: Mail, signal?: AbortSignal): Promise<string> }>

export type MailSettings = Readonly<{
  dataDir: string
  mail: Readonly<{ smtp?: string | undefined; from: string; folder?: string | undefined }>
}>

/** By SMTP where a server is set, else into a folder where a person or another program finds it. */
export function makeMailer(clock: Clock, { dataDir, mail: { smtp, from, folder } }: MailSettings): Mailer {
  return smtp === undefined ? folderMailer({ clock, from }, folder ?? join(dataDir, 'mail')) : smtpMailer({ clock, from }, smtp)
}
