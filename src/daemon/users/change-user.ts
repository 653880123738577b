import { type Actor, isoNow } from '../../core/kit/index.ts'
import type { User } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { tellContacts } from '../contacts/index.ts'
import type { Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { refuseRoles } from './create-user.ts'
import type { UsersDeps } from './deps.ts'
import { existingUser, type OneUser, userView } from './show-users.ts'
import { followName } from './sync-users.ts'
import { lockUser, type UserRecord, updateUser } from './users.repo.ts'

type Deps = Pick<UsersDeps, 'db' | 'clock' | 'roles'>
type Changes = Readonly<{
  displayName?: string | null | undefined
  locale?: string | null | undefined
  roles?: readonly string[] | undefined
}>

/** What is not named stays. Roles count within a second, on every replica. Throws NOT_FOUND, VALIDATION (unknown role). */
export async function changeUser(deps: Deps, actor: Actor, { slug, localpart, ...changes }: OneUser & Changes): Promise<User> {
  if (changes.roles) refuseRoles(deps.roles, changes.roles)
  return deps.db.transaction().execute(async (tx) => {
    await lockUser(tx, { slug, localpart })
    const { tenant, user } = await existingUser(tx, { slug, localpart })
    const at = isoNow(deps.clock)
    await updateUser(tx, user, at, changes)
    await tellOf(deps, tx, user, changes)
    await recordAudit(tx, deps.clock, { actor, action: 'user.changed', subject: `${slug}/${localpart}`, data: changes })
    return userView(tenant, { ...user, ...given(changes), updatedAt: at })
  })
}

async function tellOf(deps: Deps, tx: Tx, user: UserRecord, { roles, displayName, locale }: Changes): Promise<void> {
  const { clock } = deps
  const { id, tenantId } = user
  if (displayName !== undefined) await followName(tx, clock, user)
  if (roles) await tellContacts(tx, deps, { type: 'user.roles_changed', user, roles: [...user.roles, ...roles] })
  const isCalledElse = displayName !== undefined && displayName !== user.displayName
  if (isCalledElse) await tellContacts(tx, deps, { type: 'user.contact_changed', user, roles: roles ?? user.roles })
  if (displayName !== undefined || locale !== undefined)
    await recordEvent(tx, clock, { tenantId, type: 'user.profile_changed', payload: { userId: id }, audience: { users: [id] } })
  await publishRevocation(tx, clock, { kind: 'user', subject: id })
}

const given = ({ displayName, locale, roles }: Changes): Partial<UserRecord> => ({
  ...(displayName === undefined ? {} : { displayName }),
  ...(locale === undefined ? {} : { locale }),
  ...(roles === undefined ? {} : { roles }),
})
