import { type Actor, type Clock, isoNow, newId, type Random, type TenantId, type UserId } from '../../core/kit/index.ts'
import type { RoleBook } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import { tellContacts } from '../contacts/index.ts'
import type { Db } from '../db/index.ts'
import { insertUser, type UserRecord } from './users.repo.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random; roles: RoleBook }>
type Enrolled = Readonly<{
  tenant: Readonly<{ id: TenantId; slug: string }>
  localpart: string
  displayName: string | null
  locale: string | null
  roles: readonly string[]
  /** Whether the chat server had the account before. */
  chat: 'created' | 'existed'
}>

/** Writes a new user down; undefined when the tenant has one of that name, who stays as it is. */
export async function enrolUser(
  { db, clock, random, roles: book }: Deps,
  actor: Actor,
  enrolled: Enrolled,
): Promise<UserRecord | undefined> {
  const { tenant, localpart, displayName, locale, roles, chat } = enrolled
  const at = isoNow(clock)
  const id = newId<UserId>(random, 'usr')
  const known = { id, tenantId: tenant.id, localpart, displayName, locale, roles }
  const user: UserRecord = {
    ...known,
    avatarUrl: null,
    status: 'active',
    createdAt: at,
    updatedAt: at,
    passwordUnknownSince: null,
    passwordTurn: 0,
  }
  return db.transaction().execute(async (tx) => {
    if (!(await insertUser(tx, user))) return undefined
    await tellContacts(tx, { clock, roles: book }, { type: 'user.created', user, roles })
    await recordAudit(tx, clock, {
      actor,
      action: 'user.created',
      subject: `${tenant.slug}/${localpart}`,
      data: { userId: id, roles, chat },
    })
    return user
  })
}
