import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { compose, type From } from './compose.ts'
import type { Mailer } from './mail.ts'

/** A `.eml` file per mail, whole or not at all; the same mail again is the same file. */
export function folderMailer(from: From, folder: string): Mailer {
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
