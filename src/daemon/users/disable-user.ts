import { type Actor, isoNow } from '../../core/kit/index.ts'
import type { User, UserStatus } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { tellContacts } from '../contacts/index.ts'
import type { UsersDeps } from './deps.ts'
import { existingUser, type OneUser, userView } from './show-users.ts'
import { followLock } from './sync-users.ts'
import { lockUser, updateUser } from './users.repo.ts'

type Deps = Pick<UsersDeps, 'db' | 'clock' | 'roles' | 'endUserSessions'>

/** Ends all sessions within a second and locks the chat account, once its server takes writes. Throws NOT_FOUND. */
export const disableUser = (deps: Deps, actor: Actor, { reason, ...one }: OneUser & Readonly<{ reason: string }>): Promise<User> =>
  setStatus(deps, actor, one, { status: 'disabled', reason })

/** Lets a user log in again on both sides. Sessions that ended stay ended. Throws NOT_FOUND. */
export const enableUser = (deps: Deps, actor: Actor, one: OneUser): Promise<User> => setStatus(deps, actor, one, { status: 'active' })

type Change = Readonly<{ status: UserStatus; reason?: string }>

const setStatus = ({ db, clock, roles, endUserSessions }: Deps, actor: Actor, one: OneUser, { status, reason }: Change): Promise<User> =>
  db.transaction().execute(async (tx) => {
    await lockUser(tx, one)
    const { tenant, user } = await existingUser(tx, one)
    // Also when it is so already: the chat server may not have taken it.
    await followLock(tx, clock, user)
    if (user.status === status) return userView(tenant, user)
    const { id } = user
    const at = isoNow(clock)
    await updateUser(tx, user, at, { status })
    const type = status === 'disabled' ? 'user.disabled' : 'user.enabled'
    await tellContacts(tx, { clock, roles }, { type, user, roles: user.roles })
    if (status === 'disabled') await endUserSessions(tx, clock, { userId: id, by: 'disabled' })
    else await publishRevocation(tx, clock, { kind: 'user', subject: id })
    const data = reason === undefined ? { userId: id } : { userId: id, reason }
    await recordAudit(tx, clock, { actor, action: type, subject: `${one.slug}/${one.localpart}`, data })
    return userView(tenant, { ...user, status, updatedAt: at })
  })
