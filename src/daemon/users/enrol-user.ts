import type { TenantId } from '../../core/boxes/index.ts'
import { type Actor, type Clock, isoNow, newId, type Random } from '../../core/kit/index.ts'
import type { UserId } from '../../core/users/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { recordEvent } from '../events/index.ts'
import { insertUser, type UserRecord } from './users.repo.ts'

type Needs = Readonly<{ db: Db; clock: Clock; random: Random }>
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
export async function enrolUser({ db, clock, random }: Needs, actor: Actor, enrolled: Enrolled): Promise<UserRecord | undefined> {
  const { tenant, localpart, displayName, locale, roles, chat } = enrolled
  const at = isoNow(clock)
  const id = newId<UserId>(random, 'usr')
  const known = { id, tenantId: tenant.id, localpart, displayName, locale, roles }
  const user: UserRecord = { ...known, avatarUrl: null, status: 'active', createdAt: at, updatedAt: at, passwordUnknownSince: null }
  return db.transaction().execute(async (tx) => {
    if (!(await insertUser(tx, user))) return undefined
    await recordEvent(tx, clock, { tenantId: tenant.id, type: 'user.created', payload: { userId: id }, audience: 'tenant' })
    await recordAudit(tx, clock, {
      actor,
      action: 'user.created',
      subject: `${tenant.slug}/${localpart}`,
      data: { userId: id, roles, chat },
    })
    return user
  })
}
