// Privacy: erases users and exports tenants. Its table of rules (core/privacy) names every table of the database and says what happens to the names of users in it.
// Each feature removes what only it understands; this one replaces the names that are left, and records the erasure.
import { privacyContract } from '../../core/privacy/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { eraseUser, erasureJobs, type PrivacyDeps } from './erase-user.ts'
import { exportTenant } from './export-tenant.ts'

export type { PrivacyDeps } from './erase-user.ts'

export const privacyFeature = feature<PrivacyDeps>({
  name: 'privacy',
  routes: (deps) =>
    serveContract(privacyContract, {
      eraseUser: ({ actor, params }) => eraseUser(deps, actor, params),
      exportTenant: ({ actor, params, body }) => exportTenant(deps, actor, { ...params, ...body }),
    }),
  jobs: erasureJobs,
})
