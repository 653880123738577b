import type { Contact, Visibility } from '../../core/contacts/index.ts'
import { matrixUserIdOf, searchWords } from '../../core/users/index.ts'
import { contains, type DbOrTx } from '../db/index.ts'

/** A user, and the users it sees besides itself and the members of its spaces. */
export type Viewer = Readonly<{ tenantId: string; userId: string; visibility: Visibility }>

/** The active users of the tenant that the viewer sees. */
function visibleUsers(db: DbOrTx, { tenantId, userId, visibility }: Viewer) {
  const users = db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select(['users.id', 'localpart', 'chat_domain', 'display_name', 'avatar_url', 'roles', 'search_name'])
    .where('users.tenant_id', '=', tenantId)
    .where('users.status', '=', 'active')
  if (visibility === 'everyone') return users
  const inOwnSpaces = db
    .selectFrom('space_members as own')
    .innerJoin('space_members as other', 'other.space_id', 'own.space_id')
    .select('other.user_id')
    .where('own.user_id', '=', userId)
  return users.where(({ eb, or }) =>
    or([
      eb('users.id', '=', userId),
      eb('users.id', 'in', inOwnSpaces),
      // Roles are stored as JSON; role names need no escaping.
      ...visibility.roles.map((role) => eb('users.roles', 'like', `%"${role}"%`)),
    ]),
  )
}

type Row = Awaited<ReturnType<ReturnType<typeof visibleUsers>['execute']>>[number]

const toContact = (row: Row): Contact => ({
  userId: row.id,
  matrixUserId: matrixUserIdOf(row.localpart, row.chat_domain),
  displayName: row.display_name,
  avatarUrl: row.avatar_url,
  roles: JSON.parse(row.roles),
})

type Position = Readonly<{ name: string; id: string }>
type Page = Readonly<{ search?: string | undefined; after?: Position | undefined; limit: number }>

/** Ordered by name. Every word of `search` must occur in it. */
export async function contactsAfter(db: DbOrTx, viewer: Viewer, { search = '', after, limit }: Page): Promise<Contact[]> {
  let query = visibleUsers(db, viewer).orderBy('search_name').orderBy('users.id').limit(limit)
  for (const word of searchWords(search)) query = query.where(contains('search_name', word))
  if (after) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('search_name', 'users.id'), '>', tuple(after.name, after.id)))
  return (await query.execute()).map(toContact)
}

export async function findContact(db: DbOrTx, viewer: Viewer, userId: string): Promise<Contact | undefined> {
  const row = await visibleUsers(db, viewer).where('users.id', '=', userId).executeTakeFirst()
  return row && toContact(row)
}

/** The position in the list after the user with this id. Undefined if the viewer does not see that user. */
export async function positionOf(db: DbOrTx, viewer: Viewer, userId: string): Promise<Position | undefined> {
  const row = await visibleUsers(db, viewer).where('users.id', '=', userId).executeTakeFirst()
  return row && { name: row.search_name, id: row.id }
}

export async function spacesOfUser(db: DbOrTx, userId: string): Promise<string[]> {
  const rows = await db.selectFrom('space_members').select('space_id').where('user_id', '=', userId).orderBy('space_id').execute()
  return rows.map(({ space_id }) => space_id)
}
