import { command, count, momentOf, oneOf, text } from '../kit/index.ts'
import { rolloutList } from './rollout.view.ts'

const statuses = ['queued', 'canary', 'free_5', 'free_100', 'pro', 'enterprise', 'done', 'paused', 'failed', 'rolled_back'] as const

export const list = command(
  'list',
  'Rollouts, newest first',
  {
    status: oneOf('--status <status>', 'in one status', statuses),
    kind: oneOf('--kind <kind>', 'of one kind', ['staged', 'emergency_cve']),
    since: text('--since <time>', 'made since then: 2026-01-05, 2026-01-05T02:00:00Z, or 12h, 7d ago'),
    idempotencyKey: text('--idempotency-key <key>', 'the one that you made with this key'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api, clock }, { since, ...query }) =>
    api.rollouts.listRollouts({ query: { ...query, ...(since === undefined ? {} : { since: momentOf(since, clock.now()) }) } }),
  (page, style, { status, kind, since, idempotencyKey, cursor }) =>
    rolloutList(
      page,
      style,
      [status, kind, since, idempotencyKey, cursor].some((one) => one !== undefined),
    ),
  { examples: ['list --since 7d', 'list --status paused'] },
)
