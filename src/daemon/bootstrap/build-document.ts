import type { Bootstrap, BootstrapModule, DocumentSources } from '../../core/bootstrap/index.ts'
import { brandingOf } from '../../core/branding/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { PlannedMaintenance } from '../../core/maintenance/index.ts'
import { withModuleFlags } from '../../core/modules/index.ts'
import { capabilitiesOf, matrixUserIdOf, type RoleBook } from '../../core/users/index.ts'
import { type Db, type DbOrTx, headOf, type Tx } from '../db/index.ts'
import { streamOf } from '../events/index.ts'
import { type SpacesOf, unfinishedTasksOf } from '../tasks/index.ts'
import { type TenantRecord, tenantBySlug } from '../tenants/index.ts'
import { findUserById, type UserRecord } from '../users/index.ts'

/** The modules of a tenant, by key. The provider records a `module.…` event with each change. */
type ModulesOf = (db: DbOrTx, tenantId: string) => Promise<readonly TenantModule[]>
type TenantModule = BootstrapModule & Readonly<{ featureFlag: string }>

/** The next maintenance of a tenant. The provider records a `maintenance.changed` event with each change. */
type NextMaintenance = (db: DbOrTx, tenantId: string) => Promise<PlannedMaintenance | null>

export type BootstrapDeps = Readonly<{
  db: Db
  roles: RoleBook
  spacesOf: SpacesOf
  modulesOf: ModulesOf
  nextMaintenance: NextMaintenance
}>

/** A document, its sources, and the number of the last event that it contains. */
export type BuiltDocument = Readonly<{ bootstrap: Bootstrap; of: DocumentSources; position: number }>

type Caller = Pick<PlatformPrincipal, 'tenantId' | 'tenantSlug' | 'userId'>

const maxTasks = 200

/** Reads everything in one snapshot. Throws UNAUTHENTICATED for a user that is no longer active. */
export const buildDocument = (deps: BootstrapDeps, caller: Caller): Promise<BuiltDocument> =>
  deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const position = await headOf(tx, streamOf(caller.tenantId))
      const { tenant, user } = await standing(tx, caller)
      const who = { tenantId: tenant.id, userId: user.id, roles: user.roles }
      const spaces = await deps.spacesOf(tx, who)
      const tasks = await unfinishedTasksOf(tx, who, maxTasks)
      const modules = await deps.modulesOf(tx, tenant.id)
      const bootstrap: Bootstrap = {
        ...known(tenant, user),
        featureFlags: withModuleFlags(
          tenant.featureFlags,
          modules.filter(({ enabled }) => enabled).map(({ featureFlag }) => featureFlag),
        ),
        modules: modules.map(({ featureFlag: _, ...module }) => module),
        spaces: spaces.map(({ id, name, type, visibility, role }) => ({ id, name, type, visibility, role })),
        tasks: tasks.map(({ id, title, status, assignedRole, dueAt }) => ({ id, title, status, assignedRole, dueAt })),
        permissions: capabilitiesOf(deps.roles, { tenantSlug: tenant.slug, roles: user.roles }),
        maintenance: await deps.nextMaintenance(tx, tenant.id),
      }
      const ids = (of: readonly Readonly<{ id: string }>[]) => new Set(of.map(({ id }) => id))
      return { bootstrap, position, of: { userId: user.id, roles: user.roles, spaceIds: ids(spaces), taskIds: ids(tasks) } }
    })

/** The fields from tenant and user. */
const known = ({ chatDomain, schoolId, orgId, branding }: TenantRecord, user: UserRecord) => ({
  user: { matrixUserId: matrixUserIdOf(user.localpart, chatDomain) },
  context: { schoolId, orgId, roles: [...user.roles] },
  branding: brandingOf(branding),
  apiVersion: 'v1' as const,
  profile: { displayName: user.displayName, avatarUrl: user.avatarUrl, locale: user.locale },
})

async function standing(tx: Tx, { tenantId, tenantSlug, userId }: Caller): Promise<{ tenant: TenantRecord; user: UserRecord }> {
  const tenant = await tenantBySlug(tx, tenantSlug)
  const user = await findUserById(tx, userId)
  if (tenant?.id !== tenantId || user?.tenantId !== tenantId || user.status !== 'active')
    throw problem('UNAUTHENTICATED', 'Your account is no longer active')
  return { tenant, user }
}
