import { command } from '../kit/index.ts'
import { tenantView } from './tenants.view.ts'

export const show = command(
  'show <slug>',
  'One tenant',
  {},
  ({ api }, { slug }) => api.tenants.showTenant({ params: { slug } }),
  tenantView,
)
