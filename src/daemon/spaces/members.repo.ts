import type { SpaceMember, SpaceRole } from '../../core/spaces/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import type { Db, DbOrTx, Tx } from '../db/index.ts'

type One = Readonly<{ spaceId: string; userId: string }>
type NewMember = One & Readonly<{ tenantId: string; role: SpaceRole; joinedAt: string }>

/** Returns false if the user is a member. */
export async function insertMember(tx: Tx, { spaceId, userId, tenantId, role, joinedAt }: NewMember): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('space_members')
    .values({
      space_id: spaceId,
      user_id: userId,
      tenant_id: tenantId,
      role,
      joined_at: joinedAt,
      chat_joined_at: null,
      chat_refused_at: null,
    })
    .onConflict((c) => c.columns(['space_id', 'user_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export async function setRole(tx: Tx, { spaceId, userId }: One, role: SpaceRole): Promise<void> {
  await tx.updateTable('space_members').set({ role }).where('space_id', '=', spaceId).where('user_id', '=', userId).execute()
}

/** Returns false if the user is not a member. */
export async function deleteMember(tx: Tx, { spaceId, userId }: One): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('space_members')
    .where('space_id', '=', spaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

export async function roleIn(db: DbOrTx, { spaceId, userId }: One): Promise<SpaceRole | null> {
  const row = await db
    .selectFrom('space_members')
    .select('role')
    .where('space_id', '=', spaceId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.role ?? null
}

export async function otherOwners(db: DbOrTx, { spaceId, userId }: One): Promise<number> {
  const { count } = await db
    .selectFrom('space_members')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('space_id', '=', spaceId)
    .where('user_id', '!=', userId)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Deletes all members of a space and returns their ids. */
export async function deleteMembers(tx: Tx, spaceId: string): Promise<string[]> {
  const rows = await tx.deleteFrom('space_members').where('space_id', '=', spaceId).returning('user_id').execute()
  return rows.map(({ user_id }) => user_id).sort()
}

const members = (db: DbOrTx, spaceId: string) =>
  db
    .selectFrom('space_members')
    .innerJoin('users', 'users.id', 'user_id')
    .innerJoin('tenants', 'tenants.id', 'space_members.tenant_id')
    .select(['user_id', 'localpart', 'chat_domain', 'display_name', 'role', 'joined_at', 'chat_joined_at', 'chat_refused_at'])
    .where('space_id', '=', spaceId)
    .orderBy('user_id')

type Row = Awaited<ReturnType<ReturnType<typeof members>['execute']>>[number]

const toMember = (row: Row): SpaceMember => ({
  userId: row.user_id,
  matrixUserId: matrixUserIdOf(row.localpart, row.chat_domain),
  displayName: row.display_name,
  role: row.role,
  joinedAt: row.joined_at,
  chat: row.chat_refused_at !== null ? 'refused' : row.chat_joined_at === null ? 'pending' : 'ready',
})

type Page = Readonly<{ spaceId: string; after?: string | undefined; limit: number }>

export async function membersAfter(db: DbOrTx, { spaceId, after = '', limit }: Page): Promise<SpaceMember[]> {
  const rows = await members(db, spaceId).where('user_id', '>', after).limit(limit).execute()
  return rows.map(toMember)
}

export async function findMember(db: DbOrTx, { spaceId, userId }: One): Promise<SpaceMember | undefined> {
  const row = await members(db, spaceId).where('user_id', '=', userId).executeTakeFirst()
  return row && toMember(row)
}

/** All members as the chat must have them. */
export async function desiredMembers(db: DbOrTx, spaceId: string) {
  const rows = await members(db, spaceId).execute()
  return rows.map((row) => ({ ...toMember(row), chatId: matrixUserIdOf(row.localpart, row.chat_domain), chatJoinedAt: row.chat_joined_at }))
}

type JoinedMember = Readonly<{ userId: string; at: string }>

/** One transaction for all, because thousands may join at once. */
export const recordJoinedInChat = (db: Db, spaceId: string, joined: readonly JoinedMember[]): Promise<void> =>
  db.transaction().execute(async (tx) => {
    for (const { userId, at } of joined) {
      const set = { chat_joined_at: at, chat_refused_at: null }
      await tx.updateTable('space_members').set(set).where('space_id', '=', spaceId).where('user_id', '=', userId).execute()
    }
  })

/** Returns false if the refusal was recorded before. */
export async function recordRefused(db: Db, { spaceId, userId }: One, at: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('space_members')
    .set({ chat_refused_at: at })
    .where('space_id', '=', spaceId)
    .where('user_id', '=', userId)
    .where('chat_refused_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
