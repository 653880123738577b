import { isoNow } from '../../core/kit/index.ts'
import { publishContactEvent } from '../contacts/index.ts'
import type { Tx } from '../db/index.ts'
import type { Delegated, UsersDeps } from './deps.ts'
import { forgetPassword } from './reset-password.ts'
import { existingUser, type OneUser } from './show-users.ts'
import { enqueueLockSync } from './sync-users.ts'
import { lockUser, type UserRecord, updateUser } from './users.repo.ts'

type Deps = Pick<UsersDeps, 'clock' | 'roles' | 'endUserSessions' | 'returnTasks'> & Delegated

/**
 * Erases a user in the caller's transaction: its sessions end, and its name, picture and roles go. Its tasks are returned as when a
 * user is disabled. Its chat account is erased by a job as soon as the chat server accepts writes, also for a user who was erased before. The row
 * keeps the login name, so that it cannot log in again, and a restore of the box erases the account again. Throws NOT_FOUND.
 */
export async function eraseUserRecord(deps: Deps, tx: Tx, one: OneUser) {
  const { clock, roles } = deps
  await lockUser(tx, one)
  const { tenant, user } = await existingUser(tx, one)
  await deps.delegated?.assertMayChange(tx, user, { status: 'erased' })
  await enqueueLockSync(tx, clock, user)
  if (user.status === 'erased') return { tenant, user }
  const at = isoNow(clock)
  const none = { status: 'erased', displayName: null, avatarUrl: null, locale: null, email: null, roles: [] } as const
  await updateUser(tx, user, { updatedAt: at, changes: none })
  await forgetPassword(tx, clock, { slug: one.slug, user })
  // The tasks of a disabled user were returned when it was disabled.
  if (user.status !== 'disabled') await deps.returnTasks(tx, clock, { tenantId: user.tenantId, userId: user.id })
  await publishContactEvent(tx, { clock, roles }, { type: 'user.erased', user, roles: user.roles })
  await deps.endUserSessions(tx, clock, { userId: user.id, by: 'disabled' })
  const erased: UserRecord = { ...user, ...none, passwordUnknownSince: null, updatedAt: at }
  return { tenant, user: erased }
}
