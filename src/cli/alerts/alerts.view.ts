import { type Alert, type AlertDelivery, type AlertDetail, type ChannelState, type DeadLetter, rulesText } from '../../core/alerts/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table, tableWithText } from '../kit/index.ts'

type Tint = keyof Paint

const severityTint = { critical: 'red', warning: 'yellow', info: 'cyan' } as const satisfies Record<Alert['severity'], Tint>
const deliveryTint = { pending: 'yellow', held: 'cyan', sent: 'green', dead: 'red' } as const satisfies Record<
  AlertDelivery['status'],
  Tint
>

const what: Column<Alert> = { title: 'ALERT', value: ({ title }) => title, priority: 1 }

const columns = ({ now }: Style): Column<Alert>[] => [
  { title: 'NO', value: ({ id }) => id, priority: 1, align: 'right' },
  { title: 'SEVERITY', value: ({ severity }) => severity, priority: 2, paint: ({ severity }) => severityTint[severity] },
  { title: 'STATUS', value: ({ status }) => status, priority: 1 },
  what,
  { title: 'COUNT', value: ({ count }) => (count > 1 ? count : null), priority: 3, align: 'right' },
  { title: 'LAST SEEN', value: ({ lastAt }) => ago(lastAt, now), priority: 2 },
  { title: 'NOTIFIED', value: notifiedText, priority: 3, paint: ({ deliveries }) => (deliveries.dead > 0 ? 'red' : undefined) },
]

function notifiedText({ deliveries: { sent, pending, dead } }: Pick<Alert, 'deliveries'>): string {
  if (sent + pending + dead === 0) return 'no'
  return [sent > 0 && `${sent} sent`, pending > 0 && `${pending} pending`, dead > 0 && `${dead} failed`].filter(Boolean).join(', ')
}

const letterColumns = ({ now }: Style): Column<DeadLetter>[] => [
  { title: 'JOB', value: ({ id }) => id, priority: 1, align: 'right' },
  { title: 'TOPIC', value: ({ topic }) => topic, priority: 1 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'ATTEMPTS', value: ({ attempts }) => attempts, priority: 3, align: 'right' },
  { title: 'ERROR', value: ({ lastError }) => lastError, priority: 2, minWidth: 16 },
]

type Listed = Readonly<{ alerts: readonly Alert[]; nextCursor: string | null; deadLetters: readonly DeadLetter[] }>

export const alertList = ({ alerts, nextCursor, deadLetters }: Listed, style: Style): string =>
  sections(
    alerts.length === 0
      ? 'No alerts. Test delivery: tenantry alerts test'
      : tableWithText(style, { columns: columns(style), text: what }, alerts),
    nextCursor ? `Next page: --cursor ${nextCursor}` : '',
    deadLetters.length === 0 ? '' : `${table(style, letterColumns(style), deadLetters)}\n\nDead jobs. Retry them: tenantry jobs retry`,
  )

const deliveryError: Column<AlertDelivery> = { title: 'ERROR', value: ({ lastError }) => lastError, priority: 1 }

const deliveryColumns = ({ now }: Style): Column<AlertDelivery>[] => [
  { title: 'CHANNEL', value: ({ channel }) => channel, priority: 1 },
  { title: 'RECIPIENT', value: ({ target }) => target, priority: 1, minWidth: 16 },
  {
    title: 'STATUS',
    value: ({ status }) => (status === 'dead' ? 'failed' : status),
    priority: 1,
    paint: ({ status }) => deliveryTint[status],
  },
  { title: 'SENT', value: ({ sentAt }) => (sentAt ? ago(sentAt, now) : null), priority: 2 },
  { title: 'ATTEMPTS', value: ({ attempts }) => attempts, priority: 3, align: 'right' },
  deliveryError,
  { title: 'ID', value: ({ id }) => id, priority: 4 },
]

export function alertView({ alert, deliveries, summaryId, hasChannels }: AlertDetail, style: Style): string {
  const { paint, now } = style
  const head = `${paint[severityTint[alert.severity]](alert.severity.toUpperCase())} ${paint.bold(clean(alert.title))}`
  const facts = fields(style, [
    ['subject', clean(alert.subject)],
    ['kind', alert.kind],
    ['status', alert.status],
    ['first seen', stamp(alert.firstAt, now)],
    ['last seen', alert.count > 1 ? `${stamp(alert.lastAt, now)}, ${alert.count} times` : undefined],
    ['acknowledged', alert.acknowledgedBy ? `${clean(alert.acknowledgedBy)}, ${stamp(alert.acknowledgedAt, now)}` : undefined],
    ['closed', alert.closedAt ? `${stamp(alert.closedAt, now)}: ${clean(alert.closedBecause ?? '')}` : undefined],
    ['details', alert.body.split('\n').map(clean).join('\n')],
  ])
  const unsent = hasChannels ? 'Not sent yet.' : 'Not sent: no channel is configured for it.'
  const notified =
    deliveries.length === 0
      ? summaryId === undefined
        ? unsent
        : `Not sent by itself: the message of alert ${summaryId} covers it.`
      : tableWithText(style, { columns: deliveryColumns(style), text: deliveryError }, deliveries)
  return sections(head, facts, notified, nextSteps(alert))
}

function nextSteps({ id, status, command, deliveries }: Alert): string {
  const lines = [
    `next: ${clean(command)}`,
    ...(status === 'open' ? [`acknowledge: tenantry alerts acknowledge ${id}`] : []),
    ...(deliveries.dead > 0 ? [`resend failed messages: tenantry alerts resend ${id}`] : []),
  ]
  return lines.join('\n')
}

const lastError: Column<ChannelState> = { title: 'ERROR', value: ({ last }) => last?.error ?? null, priority: 1 }

const channelColumns = ({ now }: Style): Column<ChannelState>[] => [
  { title: 'NAME', value: ({ name }) => name, priority: 1 },
  { title: 'FORM', value: ({ channel }) => channel, priority: 3 },
  { title: 'RECIPIENT', value: ({ address }) => address, priority: 1, minWidth: 16 },
  { title: 'ALERTS', value: rulesText, priority: 2, minWidth: 10 },
  { title: 'HELD', value: ({ held }) => (held > 0 ? held : null), priority: 3, align: 'right' },
  {
    title: 'LAST MESSAGE',
    value: ({ last }) => (last ? `${last.error === null ? last.status : 'failed'} ${ago(last.at, now)}` : 'none'),
    priority: 1,
    paint: ({ last }) => (last === null ? undefined : last.error === null ? 'green' : 'red'),
  },
  lastError,
]

export const channelList = ({ channels }: Readonly<{ channels: readonly ChannelState[] }>, style: Style): string =>
  channels.length === 0
    ? 'No channels. fix: set alerts.channels or TENANTRY_ALERTS_MAIL_TO, and restart the daemon'
    : tableWithText(style, { columns: channelColumns(style), text: lastError }, channels)
