import { type Actor, isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { User, UserStatus } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { publishContactEvent } from '../contacts/index.ts'
import { forUpdate, type Tx, type WithTx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { assertKnownRoles } from './create-user.ts'
import type { Delegated, UsersDeps } from './deps.ts'
import { changeableUser, type OneUser, userView } from './show-users.ts'
import { enqueueLockSync, enqueueNameSync } from './sync-users.ts'
import { findUserById, lockUser, type UserRecord, updateUser } from './users.repo.ts'

type Deps = Pick<UsersDeps, 'db' | 'clock' | 'roles'>
type Changes = Readonly<{
  displayName?: string | null | undefined
  locale?: string | null | undefined
  email?: string | null | undefined
  roles?: readonly string[] | undefined
}>

/** Changes the named fields. Roles take effect on every replica within a second. Throws NOT_FOUND, VALIDATION (unknown role). */
export async function changeUser(deps: Deps & Delegated, actor: Actor, { slug, localpart, ...changes }: OneUser & Changes): Promise<User> {
  if (changes.roles) assertKnownRoles(deps.roles, changes.roles)
  return deps.db.transaction().execute(async (tx) => {
    await lockUser(tx, { slug, localpart })
    const { tenant, user } = await changeableUser(tx, { slug, localpart })
    await deps.delegated?.assertMayChange(tx, user, { roles: changes.roles })
    const at = isoNow(deps.clock)
    await updateUser(tx, user, { updatedAt: at, changes })
    await publishChanges({ ...deps, tx }, user, changes)
    await recordAudit(tx, deps.clock, { actor, action: 'user.changed', subject: `${slug}/${localpart}`, data: withoutEmail(changes) })
    return userView(tenant, { ...user, ...definedIn(changes), updatedAt: at })
  })
}

/** The log is kept for ever, and holds no address. */
const withoutEmail = ({ email, ...changes }: Changes) => ({ ...changes, ...(email === undefined ? {} : { email: 'changed' }) })

async function publishChanges(deps: WithTx<Deps>, user: UserRecord, { roles, displayName, locale }: Changes): Promise<void> {
  const { tx } = deps
  const { clock } = deps
  const { id, tenantId } = user
  if (displayName !== undefined) await enqueueNameSync(tx, clock, user)
  if (roles) await publishContactEvent(tx, deps, { type: 'user.roles_changed', user, roles: [...user.roles, ...roles] })
  const isRenamed = displayName !== undefined && displayName !== user.displayName
  if (isRenamed) await publishContactEvent(tx, deps, { type: 'user.contact_changed', user, roles: roles ?? user.roles })
  if (displayName !== undefined || locale !== undefined)
    await recordEvent(tx, clock, { tenantId, type: 'user.profile_changed', payload: { userId: id }, audience: { users: [id] } })
  await publishRevocation(tx, clock, { kind: 'user', subject: id })
}

const definedIn = ({ displayName, locale, email, roles }: Changes): Partial<UserRecord> => ({
  ...(displayName === undefined ? {} : { displayName }),
  ...(locale === undefined ? {} : { locale }),
  ...(email === undefined ? {} : { email }),
  ...(roles === undefined ? {} : { roles }),
})

type StatusDeps = Deps & Delegated & Pick<UsersDeps, 'endUserSessions' | 'returnTasks'>

/** Ends all sessions within a second and locks the chat account as soon as its server accepts writes. Throws NOT_FOUND. */
export const disableUser = (deps: StatusDeps, actor: Actor, { reason, ...one }: OneUser & Readonly<{ reason: string }>): Promise<User> =>
  setStatus(deps, actor, { one, change: { status: 'disabled', reason } })

/** Allows logins again, to platform and chat. Ended sessions stay ended. Throws NOT_FOUND. */
export const enableUser = (deps: StatusDeps, actor: Actor, one: OneUser): Promise<User> =>
  setStatus(deps, actor, { one, change: { status: 'active' } })

type StatusChange = Readonly<{ status: UserStatus; reason?: string }>

const setStatus = (
  { db, clock, roles, delegated, endUserSessions, returnTasks }: StatusDeps,
  actor: Actor,
  { one, change: { status, reason } }: Readonly<{ one: OneUser; change: StatusChange }>,
): Promise<User> =>
  db.transaction().execute(async (tx) => {
    await lockUser(tx, one)
    const { tenant, user } = await changeableUser(tx, one)
    await delegated?.assertMayChange(tx, user, { status })
    // Also for an unchanged status: the chat server may have missed it.
    await enqueueLockSync(tx, clock, user)
    if (user.status === status) return userView(tenant, user)
    const { id } = user
    const at = isoNow(clock)
    await updateUser(tx, user, { updatedAt: at, changes: { status } })
    const type = status === 'disabled' ? 'user.disabled' : 'user.enabled'
    if (status === 'disabled') await returnTasks(tx, clock, { tenantId: user.tenantId, userId: id })
    await publishContactEvent(tx, { clock, roles }, { type, user, roles: user.roles })
    if (status === 'disabled') await endUserSessions(tx, clock, { userId: id, by: 'disabled' })
    else await publishRevocation(tx, clock, { kind: 'user', subject: id })
    const data = reason === undefined ? { userId: id } : { userId: id, reason }
    await recordAudit(tx, clock, { actor, action: type, subject: `${one.slug}/${one.localpart}`, data })
    return userView(tenant, { ...user, status, updatedAt: at })
  })

type ProfileChanges = Readonly<{
  displayName?: string | null | undefined
  avatarUrl?: string | null | undefined
  locale?: string | null | undefined
}>
const profileFields = ['displayName', 'avatarUrl', 'locale'] as const

/**
 * Changes the named profile fields of the calling user. A new display name is synced to the chat. Contacts get an event for name and avatar, the
 * user's own clients for every change. Throws UNAUTHENTICATED.
 */
export const changeProfile = (
  { db, clock, roles }: Deps,
  { userId }: Pick<PlatformPrincipal, 'userId'>,
  input: ProfileChanges,
): Promise<UserRecord> =>
  db.transaction().execute(async (tx) => {
    const user = await lockActiveUser(tx, userId)
    const changes: ProfileChanges = Object.fromEntries(
      profileFields.filter((field) => input[field] !== undefined && input[field] !== user[field]).map((field) => [field, input[field]]),
    )
    if (Object.keys(changes).length === 0) return user
    const updatedAt = isoNow(clock)
    await updateUser(tx, user, { updatedAt, changes: changes as Partial<UserRecord> })
    if (changes.displayName !== undefined) await enqueueNameSync(tx, clock, user)
    const { tenantId } = user
    if (changes.displayName !== undefined || changes.avatarUrl !== undefined)
      await publishContactEvent(tx, { clock, roles }, { type: 'user.contact_changed', user, roles: user.roles })
    await recordEvent(tx, clock, { tenantId, type: 'user.profile_changed', payload: { userId }, audience: { users: [userId] } })
    return { ...user, ...(changes as Partial<UserRecord>), updatedAt }
  })

async function lockActiveUser(tx: Tx, userId: string): Promise<UserRecord> {
  await tx.selectFrom('users').select('id').where('id', '=', userId).modifyEnd(forUpdate(tx)).execute()
  const user = await findUserById(tx, userId)
  if (user?.status !== 'active') throw problem('UNAUTHENTICATED', 'Your account is no longer active')
  return user
}
