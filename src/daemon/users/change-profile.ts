import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { tellContacts } from '../contacts/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import type { UsersDeps } from './deps.ts'
import { followName } from './sync-users.ts'
import { findUserById, type UserRecord, updateUser } from './users.repo.ts'

type Changes = Readonly<{
  displayName?: string | null | undefined
  avatarUrl?: string | null | undefined
  locale?: string | null | undefined
}>
const fields = ['displayName', 'avatarUrl', 'locale'] as const

/**
 * What a user says of itself; what is not named, or is so already, stays. The name follows in the chat; who sees the user hears of another name or
 * picture, and the user's own apps of everything. Throws UNAUTHENTICATED.
 */
export const changeProfile = (
  { db, clock, roles }: Pick<UsersDeps, 'db' | 'clock' | 'roles'>,
  { userId }: Pick<PlatformPrincipal, 'userId'>,
  wanted: Changes,
): Promise<UserRecord> =>
  db.transaction().execute(async (tx) => {
    const user = await lockOwn(tx, userId)
    const changes: Changes = Object.fromEntries(
      fields.filter((field) => wanted[field] !== undefined && wanted[field] !== user[field]).map((field) => [field, wanted[field]]),
    )
    if (Object.keys(changes).length === 0) return user
    const updatedAt = isoNow(clock)
    await updateUser(tx, user, updatedAt, changes as Partial<UserRecord>)
    if (changes.displayName !== undefined) await followName(tx, clock, user)
    const { tenantId } = user
    if (changes.displayName !== undefined || changes.avatarUrl !== undefined)
      await tellContacts(tx, { clock, roles }, { type: 'user.contact_changed', user, roles: user.roles })
    await recordEvent(tx, clock, { tenantId, type: 'user.profile_changed', payload: { userId }, audience: { users: [userId] } })
    return { ...user, ...(changes as Partial<UserRecord>), updatedAt }
  })

async function lockOwn(tx: Tx, userId: string): Promise<UserRecord> {
  await tx.selectFrom('users').select('id').where('id', '=', userId).modifyEnd(forUpdate(tx)).execute()
  const user = await findUserById(tx, userId)
  if (user?.status !== 'active') throw problem('UNAUTHENTICATED', 'your account is no longer active')
  return user
}
