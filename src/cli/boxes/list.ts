import { command, count, oneOf, text } from '../kit/index.ts'
import { boxList } from './boxes.view.ts'

export const list = command(
  'list',
  'Boxes with their state, drift and versions',
  {
    tier: oneOf('--tier <tier>', 'of one tier', ['free', 'pro', 'enterprise']),
    host: text('--host <name>', 'on one host'),
    severity: oneOf('--severity <severity>', 'with this drift', ['none', 'minor', 'major', 'unknown']),
    slug: text('--slug <part>', 'whose slug contains this'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.boxes.listBoxes({ query }),
  boxList,
)
