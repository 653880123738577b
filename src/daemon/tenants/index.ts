// Tenants: create, change, suspend and resume them. Decides name, plan, domain, flags and maintenance window, and whether users of a tenant may log
// in. Never changes a box, and knows no user. What a deletion deletes is decided by privacy.
import './tenants.tables.ts'
import { feature } from '../feature/index.ts'
import { tenantsRoutes } from './tenants.routes.ts'

export { createTenant, deleteTenant } from './create-tenant.ts'
export { assertNotDeleting, startTenantDeletion } from './delete-tenant.ts'
export { existingTenant } from './show-tenants.ts'
export { lockTenant, ownWindowOf, type TenantRecord, tenantByChatDomain, tenantById, tenantBySlug } from './tenants.repo.ts'
export { tenantsRoutes } from './tenants.routes.ts'

export const tenantsFeature = feature<Parameters<typeof tenantsRoutes>[0]>({ name: 'tenants', routes: tenantsRoutes })
