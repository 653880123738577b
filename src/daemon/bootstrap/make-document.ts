import type { Bootstrap, DocumentSources } from '../../core/bootstrap/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { capabilitiesOf, matrixUserIdOf } from '../../core/users/index.ts'
import { headOf, type Tx } from '../db/index.ts'
import { streamOf } from '../events/index.ts'
import { unfinishedTasksOf } from '../tasks/index.ts'
import { type TenantRecord, tenantBySlug } from '../tenants/index.ts'
import { findUserById, type UserRecord } from '../users/index.ts'
import type { BootstrapDeps } from './deps.ts'

/** A document, what it was made of, and the number of the event up to which it holds what happened: not one more, not one less. */
export type Made = Readonly<{ bootstrap: Bootstrap; of: DocumentSources; position: number }>

type Caller = Pick<PlatformPrincipal, 'tenantId' | 'tenantSlug' | 'userId'>

const mostTasks = 200

/** Reads all at one instant, roles from the record too. Throws UNAUTHENTICATED for one who lost their standing this second. */
export const makeDocument = (deps: BootstrapDeps, caller: Caller): Promise<Made> =>
  deps.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const position = await headOf(tx, streamOf(caller.tenantId))
      const { tenant, user } = await standing(tx, caller)
      const who = { tenantId: tenant.id, userId: user.id, roles: user.roles }
      const spaces = await deps.spacesOf(tx, who)
      const tasks = await unfinishedTasksOf(tx, who, mostTasks)
      const bootstrap: Bootstrap = {
        ...known(tenant, user),
        modules: [...(await deps.modulesOf(tx, tenant.id))],
        spaces: spaces.map(({ id, name, type, visibility, role }) => ({ id, name, type, visibility, role })),
        tasks: tasks.map(({ id, title, status, assignedRole, dueAt }) => ({ id, title, status, assignedRole, dueAt })),
        permissions: capabilitiesOf(deps.roles, { tenantSlug: tenant.slug, roles: user.roles }),
      }
      const ids = (of: readonly Readonly<{ id: string }>[]) => new Set(of.map(({ id }) => id))
      return { bootstrap, position, of: { userId: user.id, roles: user.roles, spaceIds: ids(spaces), taskIds: ids(tasks) } }
    })

/** What the registry says. */
const known = ({ chatDomain, schoolId, orgId, featureFlags, branding }: TenantRecord, user: UserRecord) => ({
  user: { matrixUserId: matrixUserIdOf(user.localpart, chatDomain) },
  context: { schoolId, orgId, roles: [...user.roles] },
  featureFlags,
  branding: { tenantName: branding.tenantName },
  apiVersion: 'v1' as const,
  profile: { displayName: user.displayName, avatarUrl: user.avatarUrl, locale: user.locale },
})

async function standing(tx: Tx, { tenantId, tenantSlug, userId }: Caller): Promise<{ tenant: TenantRecord; user: UserRecord }> {
  const tenant = await tenantBySlug(tx, tenantSlug)
  const user = await findUserById(tx, userId)
  if (tenant?.id !== tenantId || user?.tenantId !== tenantId || user.status !== 'active')
    throw problem('UNAUTHENTICATED', 'your account is no longer active')
  return { tenant, user }
}
