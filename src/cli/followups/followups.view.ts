import type { Followup, FollowupCount, FollowupState } from '../../core/outbox/index.ts'
import { ago, type Column, clean, fields, type Paint, type Style, sections, stamp, table } from '../kit/index.ts'

const tint = { waiting: 'yellow', away: 'yellow', dead: 'red' } as const satisfies Record<FollowupState, keyof Paint>

const countColumns = ({ now }: Style): Column<FollowupCount>[] => [
  { title: 'WORK', value: ({ topic }) => topic, priority: 1 },
  { title: 'STATE', value: ({ state }) => state, priority: 1, paint: ({ state }) => tint[state] },
  { title: 'PIECES', value: ({ count }) => count, priority: 1, align: 'right' },
  { title: 'OLDEST', value: ({ oldestAt }) => ago(oldestAt, now), priority: 2 },
]

const columns = ({ now }: Style): Column<Followup>[] => [
  { title: 'NO', value: ({ id }) => id, priority: 1, align: 'right' },
  { title: 'WORK', value: ({ topic }) => topic, priority: 1 },
  { title: 'STATE', value: ({ state }) => state, priority: 1, paint: ({ state }) => tint[state] },
  { title: 'TENANT', value: ({ tenant }) => tenant, priority: 2 },
  { title: 'SINCE', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'TRIES', value: ({ attempts }) => attempts, priority: 3, align: 'right' },
  { title: 'LAST ERROR', value: ({ lastError }) => lastError, priority: 2, minWidth: 16 },
]

const nothingListed = (counts: readonly FollowupCount[]): string =>
  counts.length === 0 ? 'No follow-up work waits: all of it is done.' : 'None of what waits fits. tenantry followups list shows all.'

type Listed = Readonly<{ followups: readonly Followup[]; nextCursor: string | null; counts: readonly FollowupCount[] }>

export const followupList = ({ followups, nextCursor, counts }: Listed, style: Style): string =>
  sections(
    followups.length === 0 ? nothingListed(counts) : table(style, columns(style), followups),
    nextCursor ? `More: the same command with --cursor ${nextCursor}` : '',
    counts.length === 0 ? '' : table(style, countColumns(style), counts),
    counts.some(({ state }) => state === 'dead') ? 'To have tried again what was given up: tenantry followups retry' : '',
  )

export function followupView(followup: Followup, style: Style): string {
  const { paint, now } = style
  const { id, topic, state, tenant, about, queue, attempts, lastError, createdAt, nextAt } = followup
  const facts = fields(style, [
    ['Tenant', tenant ? clean(tenant) : undefined],
    ...Object.entries(about).map(([name, value]): [string, string] => [name, clean(value)]),
    ['Queue', clean(queue)],
    ['Since', stamp(createdAt, now)],
    ['Tries', String(attempts)],
    ['Last error', lastError ? clean(lastError) : undefined],
    ['Next', nextAt ? stamp(nextAt, now) : undefined],
  ])
  return sections(
    `${paint.bold(clean(topic))} ${paint[tint[state]](state)}`,
    facts,
    state === 'dead' ? `Once its cause is mended: tenantry followups retry ${id}` : '',
  )
}
