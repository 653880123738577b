import { command } from '../kit/index.ts'
import { tenantInFull } from './tenants.view.ts'

export const show = command(
  'show <slug>',
  'One tenant, with what its files take',
  {},
  ({ api }, { slug }) => api.tenants.showTenant({ params: { slug } }),
  tenantInFull,
)
