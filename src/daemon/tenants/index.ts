// Tenants: create, change, suspend and resume them. Decides name, plan, domain, flags and maintenance window, and whether users of a tenant may log
// in. Never changes a box, and knows no user. What a deletion deletes is decided by privacy.
import './tenants.tables.ts'
import { tenantsContract } from '../../core/tenants/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { changeTenant, resumedTimeTopic, resumeTenant, suspendTenant, type TenantsDeps } from './change-tenant.ts'
import { registerTenant } from './create-tenant.ts'
import { endResumedTime } from './resumed-time.ts'
import { type FileUsageOf, listTenants, showTenant } from './show-tenants.ts'

export { billingAddressTopic, changeTenant, resumedTimeTopic, setBrandingIn, setPlanIn, setTenantStatusIn } from './change-tenant.ts'
export { createTenant, deleteTenant } from './create-tenant.ts'
export { assertNotDeleting, startTenantDeletion } from './delete-tenant.ts'
export { endResumedTime } from './resumed-time.ts'
export { existingTenant } from './show-tenants.ts'
export {
  lockTenant,
  ownWindowOf,
  type TenantRecord,
  tenantByChatDomain,
  tenantById,
  tenantByName,
  tenantBySlug,
  tenantIdsAfter,
  tenantsAfter,
} from './tenants.repo.ts'

export const tenantsRoutes = (deps: TenantsDeps & Readonly<{ fileUsageOf: FileUsageOf }>) =>
  serveContract(tenantsContract, {
    listTenants: ({ query }) => listTenants(deps, query),
    createTenant: ({ actor, body }) => registerTenant(deps, actor, body),
    showTenant: ({ params }) => showTenant(deps, params),
    changeTenant: ({ actor, params, body }) => changeTenant(deps, actor, { ...params, ...body }),
    suspendTenant: ({ actor, params, body }) => suspendTenant(deps, actor, { ...params, ...body }),
    resumeTenant: ({ actor, params, body }) => resumeTenant(deps, actor, { ...params, ...body }),
  })

export const tenantsFeature = feature<Parameters<typeof tenantsRoutes>[0]>({
  name: 'tenants',
  routes: tenantsRoutes,
  jobs: (deps) => ({ [resumedTimeTopic]: endResumedTime(deps) }),
})
