import { command, count, oneOf, text } from '../kit/index.ts'
import { snapshotList } from './snapshots.view.ts'

export const list = command(
  'list',
  'Snapshots, newest first, with why each is kept and when it was last proven',
  {
    slug: text('--slug <slug>', 'of one box'),
    tier: oneOf('--tier <tier>', 'taken for this reason', ['pre-update', 'daily', 'manual', 'pre-restore', 'final']),
    status: oneOf('--status <status>', 'in one status', ['present', 'forgotten', 'missing', 'damaged']),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.snapshots.listSnapshots({ query }),
  snapshotList,
)
