import type { Contact, Visibility } from '../../core/contacts/index.ts'
import { foldName, matrixUserIdOf } from '../../core/users/index.ts'
import { contains, type DbOrTx } from '../db/index.ts'

/** Who looks, and whom it sees beside itself and whoever shares a space with it. */
export type Onlooker = Readonly<{ tenantId: string; userId: string; sight: Visibility }>

/** The active users of a tenant whom one of them sees. */
function seen(db: DbOrTx, { tenantId, userId, sight }: Onlooker) {
  const users = db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['users.id', 'localpart', 'chat_domain', 'display_name', 'avatar_url', 'roles', 'search_name'])
    .where('users.tenant_id', '=', tenantId)
    .where('users.status', '=', 'active')
  if (sight === 'everybody') return users
  const inOwnSpaces = db
    .selectFrom('space_members as own')
    .innerJoin('space_members as other', 'other.space_id', 'own.space_id')
    .select('other.user_id')
    .where('own.user_id', '=', userId)
  return users.where(({ eb, or }) =>
    or([
      eb('users.id', '=', userId),
      eb('users.id', 'in', inOwnSpaces),
      // Roles are kept as JSON, and the name of a role holds nothing that would have to be escaped.
      ...sight.roles.map((role) => eb('users.roles', 'like', `%"${role}"%`)),
    ]),
  )
}

type Row = Awaited<ReturnType<ReturnType<typeof seen>['execute']>>[number]

const toContact = (row: Row): Contact => ({
  userId: row.id,
  matrixUserId: matrixUserIdOf(row.localpart, row.chat_domain),
  displayName: row.display_name,
  avatarUrl: row.avatar_url,
  roles: JSON.parse(row.roles),
})

type Place = Readonly<{ name: string; id: string }>
type Page = Readonly<{ search?: string | undefined; after?: Place | undefined; limit: number }>

/** By name; each word of `search` stands in it. */
export async function contactsAfter(db: DbOrTx, onlooker: Onlooker, { search = '', after, limit }: Page): Promise<Contact[]> {
  let query = seen(db, onlooker).orderBy('search_name').orderBy('users.id').limit(limit)
  for (const word of foldName(search).split(/\s+/).filter(Boolean)) query = query.where(contains('search_name', word))
  if (after) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('search_name', 'users.id'), '>', tuple(after.name, after.id)))
  return (await query.execute()).map(toContact)
}

export async function findContact(db: DbOrTx, onlooker: Onlooker, userId: string): Promise<Contact | undefined> {
  const row = await seen(db, onlooker).where('users.id', '=', userId).executeTakeFirst()
  return row && toContact(row)
}

/** Where a page goes on that ended with a user; to whoever does not see that user it is as if there were none. */
export async function placeOf(db: DbOrTx, onlooker: Onlooker, userId: string): Promise<Place | undefined> {
  const row = await seen(db, onlooker).where('users.id', '=', userId).executeTakeFirst()
  return row && { name: row.search_name, id: row.id }
}

export async function spacesWith(db: DbOrTx, userId: string): Promise<string[]> {
  const rows = await db.selectFrom('space_members').select('space_id').where('user_id', '=', userId).orderBy('space_id').execute()
  return rows.map(({ space_id }) => space_id)
}
