import type { Alert, AlertKind, AlertSeverity, NewAlert } from './alert.ts'
import { humanTime } from './phrases.ts'

type MessageFacts = Pick<
  Alert,
  'id' | 'subject' | 'severity' | 'title' | 'body' | 'command' | 'count' | 'firstAt' | 'lastAt' | 'closedAt' | 'closedBecause'
> &
  Readonly<{ kind: AlertKind | 'test' | 'digest' }>

const marks = { critical: 'CRITICAL', warning: 'Warning', info: 'Info' } as const

/** The subject line: readable on a locked phone. */
export const subjectLine = ({ severity, title, count, closedAt }: MessageFacts): string =>
  `${closedAt === null ? marks[severity] : 'Resolved'}: ${title}${count > 1 ? ` (${count} times)` : ''}`

const columns = 72

/** Wraps text for plain mail; long words are not split. */
const wrapped = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.split(' ').reduce((whole, word) => whole + gapBefore(whole, word) + word))
    .join('\n')

const gapBefore = (whole: string, word: string): string =>
  whole.length - (whole.lastIndexOf('\n') + 1) + 1 + word.length > columns ? '\n' : ' '

/** The text of the mail; its last line is the command to run. `url`: the daemon's public URL. */
export function messageText(alert: MessageFacts, url: string): string {
  const { id, subject, title, body, command, count, firstAt, lastAt, closedAt, closedBecause } = alert
  const facts = [
    ['About', subject],
    ['Since', humanTime(firstAt)],
    ...(count > 1 ? [['Count', `${count} times, last at ${humanTime(lastAt)}`]] : []),
    ...(closedAt === null ? [] : [['Closed', `${humanTime(closedAt)}${closedBecause === null ? '' : `: ${closedBecause}`}`]]),
    ['Daemon', url],
  ]
  const acknowledge = !isAlert(alert) ? [] : [`Alert ${id}. Acknowledge it: tenantry alerts acknowledge ${id}`]
  return [
    wrapped(`${title}.`),
    wrapped(body),
    facts.map(([name, value]) => `${`${name}:`.padEnd(8)} ${value}`).join('\n'),
    ...acknowledge,
    `Next command:\n\n    ${command}`,
  ].join('\n\n')
}

/** False for a test message and a digest, which have no number. */
export const isAlert = ({ kind }: Pick<MessageFacts, 'kind'>): boolean => kind !== 'test' && kind !== 'digest'

/** The body of a signed webhook (Standard Webhooks). */
export const webhookBody = (alert: MessageFacts, url: string) => ({
  type: alert.kind === 'test' ? 'alert.test' : alert.closedAt === null ? 'alert.raised' : 'alert.closed',
  timestamp: alert.lastAt,
  data: {
    alertId: alert.id,
    kind: alert.kind,
    severity: alert.severity,
    status: alert.closedAt === null ? 'open' : 'closed',
    subject: alert.subject,
    title: alert.title,
    body: alert.body,
    command: alert.command,
    count: alert.count,
    firstAt: alert.firstAt,
    lastAt: alert.lastAt,
    daemon: url,
  },
})

export type AlertMessage = MessageFacts

/** The message of `tenantry alerts test`. */
export const testMessage = (by: string, at: string): AlertMessage => ({
  id: 0,
  kind: 'test',
  subject: 'this installation',
  severity: 'info',
  title: 'Test alert of Tenantry',
  body: `Sent by ${by}. Nothing is wrong, no action is needed.`,
  command: 'tenantry alerts list',
  count: 1,
  firstAt: at,
  lastAt: at,
  closedAt: null,
  closedBecause: null,
})

/** More alerts of one kind than this, of one tenant where its users cause them, are folded into one message. */
export const foldLimit = { count: 20, withinMs: 15 * 60_000 } as const

const foldedPrefix = 'many:'

/** True for alerts that are always sent: a signed log head, and the folded message itself. */
export const isNeverFolded = ({ kind, key }: Readonly<{ kind: AlertKind; key: string }>): boolean =>
  kind === 'rollout_signed' || key.startsWith(foldedPrefix)

/** Kinds that users of a tenant cause, such as by their boards. Those of one tenant must not silence those of another. */
const tenantKinds: readonly AlertKind[] = ['run_stalled', 'run_output_failed', 'trigger_failed']

/** The tenant whose alerts of this kind are folded together; undefined for a kind that is folded as a whole. */
export const foldedTenant = ({ kind, subject }: Readonly<{ kind: AlertKind; subject: string }>): string | undefined =>
  tenantKinds.includes(kind) ? subject.split('/', 1)[0] : undefined

type Folded = Readonly<{ kind: AlertKind; severity: AlertSeverity; tenant?: string | undefined }>

/** The one message for all folded alerts of a kind, or of a tenant and a kind. */
export const manyAlerts = ({ kind, severity, tenant }: Folded): NewAlert & Readonly<{ key: string }> => ({
  kind,
  key: `${foldedPrefix}${kind}${tenant === undefined ? '' : `:${tenant}`}`,
  subject: tenant ?? 'many alerts',
  severity,
  title: `Many alerts${tenant === undefined ? '' : ` of ${tenant}`} at once: ${kind}`,
  body:
    `More than ${foldLimit.count} alerts of kind ${kind}${tenant === undefined ? '' : ` of ${tenant}`} were raised within ${foldLimit.withinMs / 60_000} minutes. Further ones are stored and ` +
    'listed, but not sent one by one. They usually have one common cause: find it first.',
  command: `tenantry alerts list --kind ${kind} --status open`,
})
