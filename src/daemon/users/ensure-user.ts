import { type Clock, isoNow, newId, type Random, type TenantId, type UserId } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import { tellContacts } from '../contacts/index.ts'
import type { Tx } from '../db/index.ts'
import { findUser, insertUser, recordPasswordKnown, type UserRecord } from './users.repo.ts'

type Deps = Readonly<{ clock: Clock; random: Random; roles: RoleBook }>
type Ensured = Readonly<{ user: UserRecord; made: boolean }>
type Known = Readonly<{ tenantId: TenantId; localpart: string; displayName?: string | null }>

/**
 * The user of that canonical name; one whom only the chat server knew is made with the default role, and the tenant's clients hear of it. Two
 * first logins at once make one row. Who calls has proved that it is that user, so somebody knows its password; it notes in the audit log
 * that the user was made, last in its transaction.
 */
export async function ensureUser({ clock, random, roles }: Deps, tx: Tx, { tenantId, localpart, displayName }: Known): Promise<Ensured> {
  const found = await findUser(tx, { tenantId, localpart })
  if (found) return known(tx, found)
  const at = isoNow(clock)
  const user: UserRecord = {
    id: newId<UserId>(random, 'usr'),
    tenantId,
    localpart,
    displayName: displayName ?? null,
    locale: null,
    avatarUrl: null,
    roles: [roles.defaultRole],
    status: 'active',
    createdAt: at,
    updatedAt: at,
    passwordUnknownSince: null,
    passwordTurn: 0,
  }
  if (await insertUser(tx, user)) {
    await tellContacts(tx, { clock, roles }, { type: 'user.created', user, roles: user.roles })
    return { user, made: true }
  }
  return known(tx, (await findUser(tx, { tenantId, localpart })) as UserRecord)
}

async function known(tx: Tx, user: UserRecord): Promise<Ensured> {
  if (user.passwordUnknownSince === null) return { user, made: false }
  await recordPasswordKnown(tx, user.id)
  return { user: { ...user, passwordUnknownSince: null }, made: false }
}
