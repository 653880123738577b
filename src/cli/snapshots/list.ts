import { shownBox } from '../boxes/index.ts'
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
  async ({ api }, query) => {
    const page = await api.snapshots.listSnapshots({ query })
    const { slug, tier, status, cursor } = query
    // Throws NOT_FOUND: of a box that there is not it is not said that it has no snapshots. One that was erased may still have some.
    if (slug !== undefined && !(tier || status || cursor) && page.snapshots.length === 0) await shownBox({ api }, slug)
    return page
  },
  snapshotList,
)
