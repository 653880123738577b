// Privacy: erases users, exports and deletes tenants. Its table of rules (core/privacy) names every table of the database and says what happens to the names of users in it.
// Each feature removes what only it understands; this one replaces the names that are left, and records the erasure.
import { privacyContract } from '../../core/privacy/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { type DeletionDeps, deleteTenant, deletionJobs, showTenantDeletion } from './delete-tenant.ts'
import { eraseUser, erasureJobs, type PrivacyDeps } from './erase-user.ts'
import type { ExportDeps } from './export-rows.ts'
import { exportTenant } from './export-tenant.ts'

export { type DeletionDeps, deletionJobs } from './delete-tenant.ts'
export { eraseUser, type PrivacyDeps } from './erase-user.ts'
export { exportPerson } from './export-person.ts'
export type { ExportDeps } from './export-rows.ts'

export const privacyFeature = feature<PrivacyDeps & DeletionDeps & ExportDeps>({
  name: 'privacy',
  routes: (deps) =>
    serveContract(privacyContract, {
      eraseUser: ({ actor, params }) => eraseUser(deps, actor, params),
      showTenantDeletion: ({ params }) => showTenantDeletion(deps, params.slug),
      deleteTenant: ({ actor, params, body }) => deleteTenant(deps, actor, { ...params, ...body }),
      exportTenant: ({ actor, params, body }) => exportTenant(deps, actor, { ...params, ...body }),
    }),
  jobs: (deps) => ({ ...erasureJobs(deps), ...deletionJobs(deps) }),
})
