import type { Alert, AlertKind } from './alert.ts'
import { spoken } from './rollout-texts.ts'

type Told = Pick<
  Alert,
  'id' | 'subject' | 'severity' | 'title' | 'body' | 'command' | 'count' | 'firstAt' | 'lastAt' | 'closedAt' | 'closedBecause'
> &
  Readonly<{ kind: AlertKind | 'test' }>

const marks = { critical: 'CRITICAL', warning: 'Warning', info: 'Info' } as const

/** One line that says enough on a locked phone. */
export const subjectLine = ({ severity, title, count, closedAt }: Told): string =>
  `${closedAt === null ? marks[severity] : 'Over'}: ${title}${count > 1 ? ` (${count} times)` : ''}`

const columns = 72

/** Lines that every mail program shows as they are; a long word stays whole. */
const wrapped = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.split(' ').reduce((whole, word) => whole + gapBefore(whole, word) + word))
    .join('\n')

const gapBefore = (whole: string, word: string): string =>
  whole.length - (whole.lastIndexOf('\n') + 1) + 1 + word.length > columns ? '\n' : ' '

/** The mail: what, which one, since when, what is safe; its last line is the one to type. `url` is that of the daemon. */
export function messageText(alert: Told, url: string): string {
  const { id, subject, title, body, command, count, firstAt, lastAt, closedAt, closedBecause } = alert
  const facts = [
    ['About', subject],
    ['Since', spoken(firstAt)],
    ...(count > 1 ? [['Again', `${count} times, last at ${spoken(lastAt)}`]] : []),
    ...(closedAt === null ? [] : [['Over', `${spoken(closedAt)}${closedBecause === null ? '' : `: ${closedBecause}`}`]]),
    ['Daemon', url],
  ]
  const care = alert.kind === 'test' ? [] : [`Alert ${id}. Once somebody is on it: tenantry alerts acknowledge ${id}`]
  return [
    wrapped(`${title}.`),
    wrapped(body),
    facts.map(([name, value]) => `${`${name}:`.padEnd(8)} ${value}`).join('\n'),
    ...care,
    `Type this next:\n\n    ${command}`,
  ].join('\n\n')
}

/** The body of a signed webhook (Standard Webhooks). */
export const webhookBody = (alert: Told, url: string) => ({
  type: alert.kind === 'test' ? 'alert.test' : 'alert.raised',
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

export type AlertMessage = Told

/** What `alerts test` sends, so that one knows at noon whether the night would be heard of. */
export const testMessage = (by: string, at: string): AlertMessage => ({
  id: 0,
  kind: 'test',
  subject: 'this installation',
  severity: 'info',
  title: 'This is a test of the alerts of Tenantry',
  body: `${by} asked for it. Nothing is wrong. If you were woken by it at night, tell ${by}.`,
  command: 'tenantry alerts list',
  count: 1,
  firstAt: at,
  lastAt: at,
  closedAt: null,
  closedBecause: null,
})
