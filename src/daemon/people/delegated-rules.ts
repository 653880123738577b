import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { refusalOfRoles, refusalOfUser } from '../../core/people/index.ts'
import { capabilitiesOf, type RoleBook, rolesWith } from '../../core/users/index.ts'
import type { Tx } from '../db/index.ts'
import { lockTenant } from '../tenants/index.ts'
import { activeUsersWithRole, type DelegatedRules, type UserChange, type UserRecord } from '../users/index.ts'

/** The rules for a caller: it changes users that may do no more than itself, and never the last administrator of its tenant. */
export function delegatedRules(book: RoleBook, caller: PlatformPrincipal, invite?: DelegatedRules['invite']): DelegatedRules {
  const { tenantSlug, capabilities } = caller
  const refusalOf = ({ roles }: Pick<UserRecord, 'roles'>) =>
    refusalOfUser({ book, capabilities }, capabilitiesOf(book, { tenantSlug, roles }))
  const refusalFor = (roles: readonly string[]) => refusalOfRoles({ book, capabilities }, roles)
  return {
    refusalOfRoles: refusalFor,
    refusalOfUser: refusalOf,
    assertMayChange: async (tx, user, change) => {
      assertOwnTenant(caller, user)
      const added = change.roles?.filter((role) => !user.roles.includes(role)) ?? []
      const refusal = refusalOf(user) ?? refusalFor(added)
      if (refusal !== undefined) throw problem('FORBIDDEN', refusal)
      if (losesAdministration(book, user, change)) await assertNotLast(tx, book, { user, tenantSlug })
    },
    invite,
  }
}

function assertOwnTenant({ tenantId }: PlatformPrincipal, user: UserRecord): void {
  if (user.tenantId !== tenantId) throw problem('NOT_FOUND', `User ${user.id} does not exist`)
}

function losesAdministration(book: RoleBook, user: UserRecord, { roles = user.roles, status = user.status }: UserChange): boolean {
  const administrators = rolesWith(book, 'manageUsers')
  const administers = (held: readonly string[]) => held.some((role) => administrators.includes(role))
  return user.status === 'active' && administers(user.roles) && !(status === 'active' && administers(roles))
}

type Last = Readonly<{ user: UserRecord; tenantSlug: string }>

/** Two administrators who remove each other wait for each other here, and the second one is the last. */
async function assertNotLast(tx: Tx, book: RoleBook, { user, tenantSlug }: Last): Promise<void> {
  await lockTenant(tx, tenantSlug)
  const { tenantId } = user
  for (const role of rolesWith(book, 'manageUsers'))
    if ((await activeUsersWithRole(tx, { tenantId, role })).some((id) => id !== user.id)) return
  throw problem('CONFLICT', `${user.localpart} is the last user who administers users. fix: give another user such a role first`)
}
