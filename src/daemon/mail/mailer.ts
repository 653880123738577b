import { join } from 'node:path'
import type { Clock } from '../../core/kit/index.ts'
import { folderMailer } from './folder-mailer.ts'
import type { Mailer } from './mail.ts'
import { smtpMailer } from './smtp-mailer.ts'

export type MailSettings = Readonly<{
  dataDir: string
  mail: Readonly<{ smtp?: string | undefined; from: string; folder?: string | undefined }>
}>

/** By SMTP where a server is set, else into a folder where a person or another program finds it. */
export function makeMailer(clock: Clock, { dataDir, mail: { smtp, from, folder } }: MailSettings): Mailer {
  return smtp === undefined ? folderMailer({ clock, from }, folder ?? join(dataDir, 'mail')) : smtpMailer({ clock, from }, smtp)
}
