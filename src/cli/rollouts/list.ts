import { command, count, oneOf, text } from '../kit/index.ts'
import { rolloutList } from './rollout.view.ts'

const statuses = ['queued', 'canary', 'free_5', 'free_100', 'pro', 'enterprise', 'done', 'paused', 'failed', 'rolled_back'] as const

export const list = command(
  'list',
  'Rollouts, newest first',
  {
    status: oneOf('--status <status>', 'in one status', statuses),
    kind: oneOf('--kind <kind>', 'of one kind', ['staged', 'emergency_cve']),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.rollouts.listRollouts({ query }),
  rolloutList,
)
