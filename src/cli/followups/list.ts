import type { FollowupState } from '../../core/outbox/index.ts'
import { command, count, oneOf, text } from '../kit/index.ts'
import { followupList } from './followups.view.ts'

const states = Object.keys({ waiting: 0, away: 0, dead: 0 } satisfies Record<FollowupState, 0>) as FollowupState[]

export const list = command(
  'list',
  'Follow-up work that is not done, what waits longest first',
  {
    state: oneOf('--state <state>', 'in one state: away waits for a server, dead was given up', states),
    topic: text('--topic <topic>', 'of one kind, such as chat.space'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.outbox.listFollowups({ query }),
  followupList,
  { examples: ['list --state dead', 'list --topic chat.user-lock'] },
)
