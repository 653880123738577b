import type { TenantId } from '../../core/boxes/index.ts'
import type { UserId, UserStatus } from '../../core/users/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { UserTable } from './users.tables.ts'

/** A user as the daemon's rooms know it. */
export type UserRecord = Readonly<{
  id: UserId
  tenantId: TenantId
  localpart: string
  displayName: string | null
  locale: string | null
  avatarUrl: string | null
  roles: readonly string[]
  status: UserStatus
  createdAt: string
  updatedAt: string
}>

const toUser = (row: UserTable): UserRecord => ({
  id: row.id as UserId,
  tenantId: row.tenant_id as TenantId,
  localpart: row.localpart,
  displayName: row.display_name,
  locale: row.locale,
  avatarUrl: row.avatar_url,
  roles: JSON.parse(row.roles),
  status: row.status,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** `localpart` in its canonical spelling. */
export async function findUser(
  db: DbOrTx,
  { tenantId, localpart }: Readonly<{ tenantId: string; localpart: string }>,
): Promise<UserRecord | undefined> {
  const row = await db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('localpart', '=', localpart)
    .executeTakeFirst()
  return row && toUser(row)
}

export async function findUserById(db: DbOrTx, id: string): Promise<UserRecord | undefined> {
  const row = await db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toUser(row)
}

type Page = Readonly<{ tenantId: string; status?: UserStatus | undefined; after?: string | undefined; limit: number }>

/** A tenant's users by name, after the given one. */
export async function usersAfter(db: DbOrTx, { tenantId, status, after, limit }: Page): Promise<UserRecord[]> {
  let query = db.selectFrom('users').selectAll().where('tenant_id', '=', tenantId).orderBy('localpart').limit(limit)
  if (status) query = query.where('status', '=', status)
  if (after) query = query.where('localpart', '>', after)
  return (await query.execute()).map(toUser)
}

/** Those of a tenant whose row is not as it was made, by name. */
export async function changedUsers(db: DbOrTx, { tenantId, after, limit }: Page & Readonly<{ after: string }>): Promise<UserRecord[]> {
  const rows = await db
    .selectFrom('users')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('localpart', '>', after)
    .whereRef('updated_at', '<>', 'created_at')
    .orderBy('localpart')
    .limit(limit)
    .execute()
  return rows.map(toUser)
}

/** False when the tenant has a user of that name. */
export async function insertUser(tx: Tx, user: UserRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('users')
    .values({
      id: user.id,
      tenant_id: user.tenantId,
      localpart: user.localpart,
      display_name: user.displayName,
      locale: user.locale,
      avatar_url: user.avatarUrl,
      roles: JSON.stringify(user.roles),
      status: user.status,
      created_at: user.createdAt,
      updated_at: user.updatedAt,
    })
    .onConflict((c) => c.columns(['tenant_id', 'localpart']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

type Changes = Partial<Pick<UserRecord, 'displayName' | 'locale' | 'avatarUrl' | 'roles' | 'status'>>

export async function updateUser(tx: Tx, id: string, updatedAt: string, changes: Changes): Promise<void> {
  const { displayName, locale, avatarUrl, roles, status } = changes
  await tx
    .updateTable('users')
    .set({
      updated_at: updatedAt,
      ...(displayName === undefined ? {} : { display_name: displayName }),
      ...(locale === undefined ? {} : { locale }),
      ...(avatarUrl === undefined ? {} : { avatar_url: avatarUrl }),
      ...(roles === undefined ? {} : { roles: JSON.stringify(roles) }),
      ...(status === undefined ? {} : { status }),
    })
    .where('id', '=', id)
    .execute()
}

/** Others who would change the user wait until the transaction ends. */
export async function lockUser(tx: Tx, { slug, localpart }: Readonly<{ slug: string; localpart: string }>): Promise<void> {
  const tenant = tx.selectFrom('tenants').select('id').where('slug', '=', slug)
  await tx
    .selectFrom('users')
    .select('id')
    .where('tenant_id', '=', tenant)
    .where('localpart', '=', localpart)
    .modifyEnd(forUpdate(tx))
    .execute()
}

/** Which of the names are taken in a tenant. */
export async function takenNames(db: DbOrTx, tenantId: string, localparts: readonly string[]): Promise<Set<string>> {
  if (localparts.length === 0) return new Set()
  const rows = await db
    .selectFrom('users')
    .select('localpart')
    .where('tenant_id', '=', tenantId)
    .where('localpart', 'in', [...localparts])
    .execute()
  return new Set(rows.map(({ localpart }) => localpart))
}
