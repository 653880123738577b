import type { SendMailOptions } from 'nodemailer'
import type { Clock } from '../../core/kit/index.ts'
import type { Mail } from './mail.ts'

export type From = Readonly<{ clock: Clock; from: string }>

/** Header and text. No machine answers it (RFC 3834), and a mail that comes twice has one Message-ID. */
export const compose = ({ clock, from }: From, { id, to, subject, text, html, urgent = false }: Mail): SendMailOptions => ({
  from,
  to,
  subject,
  text,
  ...(html === undefined ? {} : { html }),
  date: clock.now(),
  messageId: `<${id}@${domainOf(from)}>`,
  headers: { 'Auto-Submitted': 'auto-generated' },
  ...(urgent ? { priority: 'high' as const } : {}),
  disableFileAccess: true,
  disableUrlAccess: true,
})

const domainOf = (from: string): string => /@([A-Za-z0-9.-]+)/.exec(from)?.[1] ?? 'localhost'
