import { ago, type Column, command, count, momentOf, type Style, sections, table, text } from '../kit/index.ts'

type Entry = Readonly<{ seq: number; at: string; actor: string; action: string; subject: string | null; data?: unknown }>

const columns = ({ now }: Style): Column<Entry>[] => [
  { title: 'NO', value: ({ seq }) => seq, priority: 3, align: 'right' },
  { title: 'AT (UTC)', value: ({ at }) => at.slice(0, 19).replace('T', ' '), priority: 1 },
  { title: '', value: ({ at }) => ago(at, now), priority: 4 },
  { title: 'ACTOR', value: ({ actor }) => actor, priority: 1, minWidth: 10 },
  { title: 'ACTION', value: ({ action }) => action, priority: 1 },
  { title: 'SUBJECT', value: ({ subject }) => subject, priority: 2, minWidth: 12 },
  { title: 'DATA', value: ({ data }) => dataText(data), priority: 4, minWidth: 16 },
]

const dataText = (data: unknown) => {
  const text = JSON.stringify(data)
  return text === undefined || text === '{}' ? null : text
}

export const list = command('list', 'List audit entries, newest first', {
  options: {
    actor: text('--actor <actor>', 'actor, such as admin:anna; a trailing * matches a prefix'),
    action: text('--action <action>', 'action, such as rollout.paused; a trailing * matches a prefix'),
    subject: text('--subject <subject>', 'object of the action'),
    since: text('--since <time>', 'only entries since then: 2026-01-05, 2026-01-05T02:00:00Z, 2h, 1d'),
    until: text('--until <time>', 'only entries before this time'),
    chain: text('--chain <name>', 'chain to list (default: admin)'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api, clock }, { since, until, ...query }) => {
    const now = clock.now()
    return api.audit.listAudit({
      query: {
        ...query,
        ...(since !== undefined && { since: momentOf(since, now) }),
        ...(until !== undefined && { until: momentOf(until, now, { option: '--until' }) }),
      },
    })
  },
  view: ({ entries, nextCursor }, style) =>
    entries.length === 0
      ? 'No entries.'
      : sections(table(style, columns(style), entries), nextCursor ? `Next page: --cursor ${nextCursor}` : ''),
  examples: ["list --action 'box.*' --since 1d", 'list --since 2026-01-05 --until 2026-01-06'],
})
