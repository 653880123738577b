// The registry of tenants: who they are, their plan, their domain, when they may be disturbed, whether their users may log in.
// A tenant comes into being alone or with its box. It never touches a box, and it knows no user of a tenant.
import './tenants.tables.ts'
import { feature } from '../feature/index.ts'
import { tenantsRoutes } from './tenants.routes.ts'

export { createTenant } from './create-tenant.ts'
export { deleteTenant } from './delete-tenant.ts'
export { ownWindowOf } from './own-window.ts'
export { existingTenant } from './show-tenants.ts'
export { lockTenant, type TenantRecord, tenantByChatDomain, tenantBySlug } from './tenants.repo.ts'
export { tenantsRoutes } from './tenants.routes.ts'

export const tenantsFeature = feature<Parameters<typeof tenantsRoutes>[0]>({ name: 'tenants', routes: tenantsRoutes })
