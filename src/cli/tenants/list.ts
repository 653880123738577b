import { command, count, oneOf, text } from '../kit/index.ts'
import { tenantList } from './tenants.view.ts'

export const list = command(
  'list',
  'Tenants by slug, with their maintenance windows',
  {
    plan: oneOf('--plan <plan>', 'of one plan', ['light', 'pro', 'dedicated']),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.tenants.listTenants({ query }),
  tenantList,
)
