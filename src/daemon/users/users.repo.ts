import type { Capability, TenantId, UserId } from '../../core/kit/index.ts'
import { type RoleBook, rolesWith, searchNameOf, searchWords, type UserStatus } from '../../core/users/index.ts'
import { contains, type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import type { UserRow } from './users.tables.ts'

/** A row of `users`. `passwordVersion` changes with every write of the password. */
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
  passwordUnknownSince: string | null
  passwordVersion: number
  email: string | null
  /** The password was chosen by the administration, and must be replaced before anything else. */
  hasInitialPassword: boolean
}>

const toUser = (row: UserRow): UserRecord => ({
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
  passwordUnknownSince: row.password_unknown_since,
  passwordVersion: Number(row.password_version),
  email: row.email,
  hasInitialPassword: Number(row.password_initial) === 1,
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

/** Ids of the active users of a tenant with a role. */
export async function activeUsersWithRole(db: DbOrTx, { tenantId, role }: Readonly<{ tenantId: string; role: string }>): Promise<string[]> {
  const rows = await db
    .selectFrom('users')
    .select(['id', 'roles'])
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'active')
    // Role names are JSON strings, so a quoted name matches whole names only.
    .where(contains('roles', JSON.stringify(role)))
    .execute()
  return rows.filter(({ roles }) => (JSON.parse(roles) as string[]).includes(role)).map(({ id }) => id)
}

type Capable = Readonly<{ tenantId: string; capability: Capability }>

/** Ids of the active users of a tenant with a capability, each once. */
export async function activeUsersWith(db: DbOrTx, book: RoleBook, { tenantId, capability }: Capable): Promise<string[]> {
  const found = new Set<string>()
  for (const role of rolesWith(book, capability)) for (const userId of await activeUsersWithRole(db, { tenantId, role })) found.add(userId)
  return [...found]
}

/** Whether an active user of the tenant has the role. */
export async function hasActiveUser(db: DbOrTx, { tenantId, role }: Readonly<{ tenantId: string; role: string }>): Promise<boolean> {
  const query = db.selectFrom('users').select('id').where('tenant_id', '=', tenantId).where('status', '=', 'active')
  return (
    (await query
      .where(contains('roles', JSON.stringify(role)))
      .limit(1)
      .executeTakeFirst()) !== undefined
  )
}

type Page = Readonly<{
  tenantId: string
  status?: UserStatus | undefined
  withoutPassword?: boolean | undefined
  oldPassword?: boolean | undefined
  /** Words that the name or localpart all contain. */
  search?: string | undefined
  role?: string | undefined
  withoutErased?: boolean | undefined
  after?: string | undefined
  limit: number
}>

/** A page of a tenant's users, ordered by localpart. */
export async function usersAfter(
  db: DbOrTx,
  { tenantId, status, withoutPassword, oldPassword, search = '', role, withoutErased, after, limit }: Page,
): Promise<UserRecord[]> {
  let query = db.selectFrom('users').selectAll().where('tenant_id', '=', tenantId).orderBy('localpart').limit(limit)
  if (status) query = query.where('status', '=', status)
  if (withoutErased) query = query.where('status', '<>', 'erased')
  if (withoutPassword) query = query.where('password_unknown_since', 'is not', null)
  if (oldPassword) {
    const old = db.selectFrom('user_passwords').select('user_id').where('tenant_id', '=', tenantId).where('old_since', 'is not', null)
    query = query.where('id', 'in', old)
  }
  for (const word of searchWords(search)) query = query.where(contains('search_name', word))
  if (role !== undefined) query = query.where(contains('roles', JSON.stringify(role)))
  if (after) query = query.where('localpart', '>', after)
  return (await query.execute()).map(toUser)
}

/** The number of users whose chat account was recreated with an unknown password. */
export async function countWithoutPassword(db: DbOrTx, tenantId: string): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .select((of) => of.fn.countAll().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('password_unknown_since', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Records that the password is unknown. Returns false if it was written since the user was read. */
export async function recordPasswordUnknown(
  tx: Tx,
  { id, passwordVersion }: Pick<UserRecord, 'id' | 'passwordVersion'>,
  since: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('users')
    .set({ password_unknown_since: since })
    .where('id', '=', id)
    .where('password_version', '=', passwordVersion)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function recordPasswordKnown(tx: Tx, id: string): Promise<void> {
  await tx.updateTable('users').set({ password_unknown_since: null }).where('id', '=', id).execute()
}

type NewUser = Omit<UserRecord, 'passwordUnknownSince' | 'passwordVersion' | 'email' | 'hasInitialPassword'> &
  Partial<Pick<UserRecord, 'email' | 'hasInitialPassword'>>

/** Returns false if the tenant has a user of that name. */
export async function insertUser(tx: Tx, user: NewUser): Promise<boolean> {
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
      password_unknown_since: null,
      email: user.email ?? null,
      password_initial: user.hasInitialPassword ? 1 : 0,
      search_name: searchNameOf(user),
    })
    .onConflict((c) => c.columns(['tenant_id', 'localpart']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

type Named = Pick<UserRecord, 'id' | 'localpart'>
type Changes = Partial<Pick<UserRecord, 'displayName' | 'locale' | 'avatarUrl' | 'email' | 'roles' | 'status'>>

export async function updateUser(
  tx: Tx,
  { id, localpart }: Named,
  { updatedAt, changes }: Readonly<{ updatedAt: string; changes: Changes }>,
): Promise<void> {
  const { displayName, locale, avatarUrl, email, roles, status } = changes
  await tx
    .updateTable('users')
    .set({
      updated_at: updatedAt,
      ...(displayName === undefined ? {} : { display_name: displayName, search_name: searchNameOf({ displayName, localpart }) }),
      ...(locale === undefined ? {} : { locale }),
      ...(avatarUrl === undefined ? {} : { avatar_url: avatarUrl }),
      ...(email === undefined ? {} : { email }),
      ...(roles === undefined ? {} : { roles: JSON.stringify(roles) }),
      ...(status === undefined ? {} : { status }),
    })
    .where('id', '=', id)
    .execute()
}

/** Locks the user against concurrent changes until the transaction ends. */
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

export type NamedUser = Pick<UserRecord, 'localpart' | 'status' | 'displayName' | 'roles'>

/** The users of the tenant with these names, of every status: a name is never given out twice. */
export async function usersNamed(db: DbOrTx, tenantId: string, localparts: readonly string[]): Promise<NamedUser[]> {
  if (localparts.length === 0) return []
  const rows = await db
    .selectFrom('users')
    .select(['localpart', 'status', 'display_name', 'roles'])
    .where('tenant_id', '=', tenantId)
    .where('localpart', 'in', [...localparts])
    .execute()
  return rows.map(({ localpart, status, display_name: displayName, roles }) => ({
    ...{ localpart, status, displayName },
    roles: JSON.parse(roles),
  }))
}
