import type { PaymentEvent, PaymentEventState } from '../../core/payments/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'

const tint = { waiting: 'yellow', applied: 'green' } as const satisfies Record<PaymentEventState, keyof Paint>

const columns = ({ now }: Style): Column<PaymentEvent>[] => [
  { title: 'EVENT', value: ({ id }) => id, priority: 1 },
  { title: 'TYPE', value: ({ type }) => type, priority: 1 },
  { title: 'STATUS', value: ({ state }) => state, priority: 1, paint: ({ state }) => tint[state] },
  { title: 'OBJECT', value: ({ objectId }) => objectId, priority: 2 },
  { title: 'RECEIVED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'OUTCOME', value: ({ outcome }) => outcome, priority: 2, minWidth: 16 },
]

type Listed = Readonly<{ events: readonly PaymentEvent[]; nextCursor: string | null }>

export const eventList = ({ events, nextCursor }: Listed, style: Style): string =>
  sections(events.length === 0 ? 'No events.' : table(style, columns(style), events), nextCursor ? `Next page: --cursor ${nextCursor}` : '')

export function eventView(event: PaymentEvent, style: Style): string {
  const { paint, now } = style
  const { id, type, state, endpoint, objectKind, objectId, livemode, eventAt, createdAt, outcome, appliedAt } = event
  return sections(
    `${paint.bold(clean(type))} ${paint[tint[state]](state)}`,
    fields(style, [
      ['event', clean(id)],
      ['endpoint', endpoint],
      ['object', objectId ? clean(`${objectKind ?? ''} ${objectId}`.trim()) : undefined],
      ['mode', livemode ? 'live' : 'test'],
      ['created', stamp(eventAt, now)],
      ['received', stamp(createdAt, now)],
      ['applied', appliedAt ? stamp(appliedAt, now) : undefined],
      ['outcome', outcome ? clean(outcome) : undefined],
    ]),
    state === 'waiting' ? 'To see why it waits: tenantry jobs list --topic payments.event' : '',
  )
}
