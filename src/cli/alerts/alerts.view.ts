import type { Alert, AlertDelivery, AlertDetail, DeadLetter } from '../../core/alerts/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table, tableWithText } from '../kit/index.ts'

type Tint = keyof Paint

const severityTint = { critical: 'red', warning: 'yellow', info: 'cyan' } as const satisfies Record<Alert['severity'], Tint>
const deliveryTint = { pending: 'yellow', sent: 'green', dead: 'red' } as const satisfies Record<AlertDelivery['status'], Tint>

const what: Column<Alert> = { title: 'WHAT', value: ({ title }) => title, priority: 1 }

const columns = ({ now }: Style): Column<Alert>[] => [
  { title: 'NO', value: ({ id }) => id, priority: 1, align: 'right' },
  { title: 'SEVERITY', value: ({ severity }) => severity, priority: 2, paint: ({ severity }) => severityTint[severity] },
  { title: 'STATUS', value: ({ status }) => status, priority: 1 },
  what,
  { title: 'TIMES', value: ({ count }) => (count > 1 ? count : null), priority: 3, align: 'right' },
  { title: 'LAST', value: ({ lastAt }) => ago(lastAt, now), priority: 2 },
  { title: 'TOLD', value: toldText, priority: 3, paint: ({ deliveries }) => (deliveries.dead > 0 ? 'red' : undefined) },
]

function toldText({ deliveries: { sent, pending, dead } }: Pick<Alert, 'deliveries'>): string {
  if (sent + pending + dead === 0) return 'not by itself'
  return [sent > 0 && `${sent} sent`, pending > 0 && `${pending} waiting`, dead > 0 && `${dead} dead`].filter(Boolean).join(', ')
}

const letterColumns = ({ now }: Style): Column<DeadLetter>[] => [
  { title: 'LETTER', value: ({ id }) => id, priority: 1, align: 'right' },
  { title: 'WORK', value: ({ topic }) => topic, priority: 1 },
  { title: 'ASKED FOR', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'TRIES', value: ({ attempts }) => attempts, priority: 3, align: 'right' },
  { title: 'WHY IT WAS GIVEN UP', value: ({ lastError }) => lastError, priority: 2, minWidth: 16 },
]

type Listed = Readonly<{ alerts: readonly Alert[]; nextCursor: string | null; deadLetters: readonly DeadLetter[] }>

export const alertList = ({ alerts, nextCursor, deadLetters }: Listed, style: Style): string =>
  sections(
    alerts.length === 0
      ? 'No alert fits. Whether one would reach you: tenantry alerts test'
      : tableWithText(style, columns(style), what, alerts),
    nextCursor ? `More: the same command with --cursor ${nextCursor}` : '',
    deadLetters.length === 0 ? '' : `${table(style, letterColumns(style), deadLetters)}\n\nDead jobs. To retry them: tenantry jobs retry`,
  )

const deliveryError: Column<AlertDelivery> = { title: 'ERROR', value: ({ lastError }) => lastError, priority: 1 }

const deliveryColumns = ({ now }: Style): Column<AlertDelivery>[] => [
  { title: 'BY', value: ({ channel }) => channel, priority: 1 },
  { title: 'TO', value: ({ target }) => target, priority: 1, minWidth: 16 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => deliveryTint[status] },
  { title: 'SENT', value: ({ sentAt }) => (sentAt ? ago(sentAt, now) : null), priority: 2 },
  { title: 'TRIES', value: ({ attempts }) => attempts, priority: 3, align: 'right' },
  deliveryError,
  { title: 'ID', value: ({ id }) => id, priority: 4 },
]

export function alertView({ alert, deliveries }: AlertDetail, style: Style): string {
  const { paint, now } = style
  const head = `${paint[severityTint[alert.severity]](alert.severity.toUpperCase())} ${paint.bold(clean(alert.title))}`
  const facts = fields(style, [
    ['About', clean(alert.subject)],
    ['Kind', alert.kind],
    ['Status', alert.status],
    ['Since', stamp(alert.firstAt, now)],
    ['Again', alert.count > 1 ? `${alert.count} times, last ${stamp(alert.lastAt, now)}` : undefined],
    ['Seen to by', alert.acknowledgedBy ? `${clean(alert.acknowledgedBy)}, ${stamp(alert.acknowledgedAt, now)}` : undefined],
    ['Over', alert.closedAt ? `${stamp(alert.closedAt, now)}: ${clean(alert.closedBecause ?? '')}` : undefined],
    ['What', alert.body.split('\n').map(clean).join('\n')],
  ])
  const told =
    deliveries.length === 0
      ? 'It was not sent by itself: no channel was set, or so many of its kind came at once that one message speaks for all.'
      : tableWithText(style, deliveryColumns(style), deliveryError, deliveries)
  return sections(head, facts, told, nextSteps(alert))
}

function nextSteps({ id, status, command, deliveries }: Alert): string {
  const lines = [
    `Next: ${clean(command)}`,
    ...(status === 'open' ? [`Once somebody is on it: tenantry alerts acknowledge ${id}`] : []),
    ...(deliveries.dead > 0 ? [`Send what was given up again: tenantry alerts resend ${id}`] : []),
  ]
  return lines.join('\n')
}
