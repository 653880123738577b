// The registry of tenants: who they are, their plan and domain. A tenant comes into being with its box.
// It never touches a box, and it knows no user of a tenant.
import './tenants.tables.ts'

export { createTenant } from './create-tenant.ts'
export { deleteTenant, tenantBySlug } from './tenants.repo.ts'
export { tenantsRoutes } from './tenants.routes.ts'
