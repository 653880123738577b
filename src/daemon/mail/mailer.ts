import { join } from 'node:path'
import { type Clock, problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { compose, type From } from './compose.ts'
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

/** A `.eml` file per mail, whole or not at all; the same mail again is the same file. */
function folderMailer(from: From, folder: string): Mailer {
  return {
    send: async (mail) => {
      const file = join(folder, `${mail.id}.eml`)
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
      const { message } = await transport.sendMail(compose(from, mail))
      await writeFileAtomic(file, message as Buffer).catch((error: NodeJS.ErrnoException) => {
        throw problem(
          'UNAVAILABLE',
          `the mail cannot be written to ${folder} (${error.code}). fix: make the folder writable for the daemon`,
        )
      })
      return `written to ${file}`
    },
  }
}
