import { plural } from '../../core/kit/index.ts'
import { boxesToErase } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { eraseFilesOf, eraseTenantFiles } from '../files/index.ts'
import { eraseUserRuns, runTasks } from '../flows/index.ts'
import { eraseDeveloper, erasePackages, installedElsewhere, modulesOfDevelopers, queueDataDeletion } from '../modules/index.ts'
import { endPayments, eraseActiveUser } from '../payments/index.ts'
import type { DeletionDeps, ExportDeps, PrivacyDeps } from '../privacy/index.ts'
import { deleteUserSessions } from '../sessions/index.ts'
import { eraseSnapshots, snapshotsOnHosts } from '../snapshots/index.ts'
import { leaveAllSpaces } from '../spaces/index.ts'
import { returnTasks } from '../tasks/index.ts'
import { discardJobsOf } from '../work/index.ts'
import { billingDeps } from './billing-deps.ts'
import type { Deps } from './deps.ts'

export const privacyDeps = (deps: Deps): PrivacyDeps & DeletionDeps & ExportDeps => ({
  ...deps.users,
  eraseSteps: eraseSteps(deps),
  blockers: [boxesToErase, modulesInUse],
  remains: (db, tenant) => snapshotsOnHosts({ db, settings: deps.config }, tenant),
  deleteSteps: [
    (tenant, signal) => endPayments(billingDeps(deps), tenant, signal),
    (tenant) => queueDataDeletion(deps, tenant.id),
    (tenant, signal) => eraseTenantFiles(deps.files, tenant.id, signal),
    (tenant, signal) => erasePackages(deps.files, tenant, signal),
    (tenant, signal) => eraseSnapshots(deps.snapshots, tenant, signal),
  ],
  discardJobs: discardJobsOf,
})

/** Modules of this tenant's developers that other tenants have: they would lose them. */
async function modulesInUse(db: Db, tenant: Readonly<{ id: string; slug: string }>): Promise<readonly string[]> {
  const used = await installedElsewhere(db, tenant.id, await modulesOfDevelopers(db, tenant))
  return [...used].map(
    ([module, tenants]) =>
      `Module ${module} of a developer of ${tenant.slug} is installed by ${plural(tenants, 'other tenant')}. fix: they uninstall it first`,
  )
}

/** Steps of features for an erased user, before its id is replaced. */
const eraseSteps = (deps: Deps): PrivacyDeps['eraseSteps'] => [
  // The job of the erased user may run later: without its assignee a task that it began could not be returned.
  ({ id: userId, tenantId }, signal) => returnTasks({ ...deps, runTasks: runTasks(deps) }, { tenantId, userId }, signal),
  (user, signal) => eraseUserRuns({ ...deps, eraseFiles: (...input) => eraseFilesOf(deps.files, ...input) }, user, signal),
  (user, signal) => leaveAllSpaces(deps, user, signal),
  (user) => deleteUserSessions(deps.db, user),
  (user) => eraseDeveloper(deps.db, user),
  (user) => eraseActiveUser(deps, user),
]
