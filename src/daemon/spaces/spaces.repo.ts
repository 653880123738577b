import type { TenantId } from '../../core/kit/index.ts'
import type { OwnSpace, SpaceId, SpaceRole, SpaceType, SpaceVisibility } from '../../core/spaces/index.ts'
import { type DbOrTx, forNoKeyUpdate, type Tx } from '../db/index.ts'
import type { SpaceTable } from './spaces.tables.ts'

/** A row of `spaces`. `revision` counts changes; `chatRevision` is the last one synced to the chat. */
export type SpaceRecord = Readonly<{
  id: SpaceId
  tenantId: TenantId
  name: string
  type: SpaceType
  visibility: SpaceVisibility
  revision: number
  chatRevision: number
  spaceRoomId: string | null
  roomId: string | null
  createdBy: string
  createdAt: string
  updatedAt: string
  deletedAt: string | null
}>

const toSpace = (row: SpaceTable): SpaceRecord => ({
  id: row.id as SpaceId,
  tenantId: row.tenant_id as TenantId,
  name: row.name,
  type: row.type,
  visibility: row.visibility,
  revision: row.revision,
  chatRevision: row.chat_revision,
  spaceRoomId: row.chat_space_id,
  roomId: row.chat_room_id,
  createdBy: row.created_by,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  deletedAt: row.deleted_at,
})

/** Returns false if a space has this id, also a deleted one. */
export async function insertSpace(tx: Tx, space: SpaceRecord): Promise<boolean> {
  const { id, tenantId, name, type, visibility, revision, chatRevision, spaceRoomId, roomId } = space
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('spaces')
    .values({
      ...{ id, tenant_id: tenantId, name, type, visibility, revision, chat_revision: chatRevision },
      ...{ chat_space_id: spaceRoomId, chat_room_id: roomId, created_by: space.createdBy },
      ...{ created_at: space.createdAt, updated_at: space.updatedAt, deleted_at: space.deletedAt },
    })
    .onConflict((c) => c.column('id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

type OneSpace = Readonly<{ tenantId: string; spaceId: string }>

/** A space of this tenant that is not deleted. */
export async function findSpace(db: DbOrTx, { tenantId, spaceId }: OneSpace): Promise<SpaceRecord | undefined> {
  const row = await db
    .selectFrom('spaces')
    .selectAll()
    .where('id', '=', spaceId)
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row && toSpace(row)
}

/** Any space, including deleted ones. For jobs only: it does not check the tenant. */
export async function spaceById(db: DbOrTx, spaceId: string): Promise<SpaceRecord | undefined> {
  const row = await db.selectFrom('spaces').selectAll().where('id', '=', spaceId).executeTakeFirst()
  return row && toSpace(row)
}

type Several = Readonly<{ tenantId: string; ids: readonly (string | null)[] }>

/** The names of spaces of a tenant by id, also of deleted ones; null: no space. */
export async function spaceNames(db: DbOrTx, { tenantId, ids }: Several): Promise<ReadonlyMap<string, string>> {
  const distinct = [...new Set(ids)].filter((id) => id !== null)
  if (distinct.length === 0) return new Map()
  const query = db.selectFrom('spaces').select(['id', 'name']).where('tenant_id', '=', tenantId)
  const rows = await query.where('id', 'in', distinct).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

type Placed = Readonly<{ spaceId: string | null }>

/** Rows of a tenant with the names of their spaces. */
export async function withSpaceNames<Row extends Placed>(
  db: DbOrTx,
  { tenantId, rows }: Readonly<{ tenantId: string; rows: readonly Row[] }>,
): Promise<(Row & Readonly<{ spaceName: string | null }>)[]> {
  const names = await spaceNames(db, { tenantId, ids: rows.map(({ spaceId }) => spaceId) })
  return rows.map((row) => ({ ...row, spaceName: names.get(row.spaceId ?? '') ?? null }))
}

/** Locks the space against changes of it and its members until the transaction ends. Inserts that reference it are not blocked. */
export async function lockSpace(tx: Tx, { tenantId, spaceId }: OneSpace): Promise<void> {
  const one = tx.selectFrom('spaces').select('id').where('id', '=', spaceId).where('tenant_id', '=', tenantId)
  await one.modifyEnd(forNoKeyUpdate(tx)).execute()
}

type Changes = Partial<Pick<SpaceTable, 'name' | 'visibility' | 'deleted_at'>>

/** Changes the row and counts up the revision that the chat must follow. */
export async function changeSpaceRow(
  tx: Tx,
  { tenantId, spaceId }: OneSpace,
  { updatedAt, changes = {} }: Readonly<{ updatedAt: string; changes?: Changes }>,
): Promise<void> {
  await tx
    .updateTable('spaces')
    .set((eb) => ({ ...changes, updated_at: updatedAt, revision: eb('revision', '+', 1) }))
    .where('id', '=', spaceId)
    .where('tenant_id', '=', tenantId)
    .execute()
}

type Aligned = Readonly<{ spaceRoomId: string | null; roomId: string | null; chatRevision?: number }>

/** Records the rooms and the revision that the chat has. */
export async function recordChatState(db: DbOrTx, spaceId: string, { spaceRoomId, roomId, chatRevision }: Aligned): Promise<void> {
  await db
    .updateTable('spaces')
    .set({
      chat_space_id: spaceRoomId,
      chat_room_id: roomId,
      ...(chatRevision === undefined ? {} : { chat_revision: chatRevision }),
    })
    .where('id', '=', spaceId)
    .execute()
}

type Page = Readonly<{ tenantId: string; userId: string; all: boolean; after?: string | undefined; limit: number }>

/** Spaces that a user can find, with its role; `all`: every space of the tenant. */
export async function spacesAfter(db: DbOrTx, { tenantId, userId, all, after = '', limit }: Page) {
  const rows = await db
    .selectFrom('spaces')
    .leftJoin('space_members', (join) => join.onRef('space_id', '=', 'spaces.id').on('user_id', '=', userId))
    .selectAll('spaces')
    .select('role')
    .where('spaces.tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .where('spaces.id', '>', after)
    .where((eb) => (all ? eb.lit(true) : eb.or([eb('role', 'is not', null), eb('visibility', '!=', 'PRIVATE')])))
    .orderBy('spaces.id')
    .limit(limit)
    .execute()
  return rows.map(({ role, ...row }) => ({ space: toSpace(row), role: role as SpaceRole | null }))
}

/** The spaces of a member, by name. */
export async function spacesOf(
  db: DbOrTx,
  { tenantId, userId }: Readonly<{ tenantId: string; userId: string }>,
): Promise<readonly OwnSpace[]> {
  const rows = await db
    .selectFrom('space_members')
    .innerJoin('spaces', 'spaces.id', 'space_id')
    .select(['spaces.id', 'name', 'type', 'visibility', 'role'])
    .where('user_id', '=', userId)
    .where('spaces.tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .orderBy('name')
    .orderBy('spaces.id')
    .execute()
  return rows.map((row) => ({ ...row, id: row.id as SpaceId }))
}

/** The current members of each space, for the audience of events. */
export async function membersOf(db: DbOrTx, spaceIds: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>()
  if (spaceIds.length === 0) return found
  const rows = await db
    .selectFrom('space_members')
    .select(['space_id', 'user_id'])
    .where('space_id', 'in', [...spaceIds])
    .execute()
  for (const { space_id, user_id } of rows) {
    const members = found.get(space_id) ?? new Set()
    found.set(space_id, members.add(user_id))
  }
  return found
}

type RoomPage = Readonly<{ tenantId: string; after: string; limit: number }>

/** The chat rooms of a tenant's spaces by space id, without those that are being made or deleted. */
export async function spaceRoomsAfter(db: DbOrTx, { tenantId, after, limit }: RoomPage) {
  const rows = await db
    .selectFrom('spaces')
    .select(['id', 'name', 'chat_room_id'])
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .where('chat_room_id', 'is not', null)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id, name, chat_room_id }) => ({ spaceId: id, name, roomId: chat_room_id as string }))
}

/** The space of the tenant that has the chat room and is not deleted. */
export async function spaceOfRoom(
  db: DbOrTx,
  { tenantId, roomId }: Readonly<{ tenantId: string; roomId: string }>,
): Promise<string | undefined> {
  const query = db.selectFrom('spaces').select('id').where('tenant_id', '=', tenantId).where('chat_room_id', '=', roomId)
  return (await query.where('deleted_at', 'is', null).executeTakeFirst())?.id
}

/** Ids of the chat rooms of a tenant's spaces, without those that are being made or deleted. */
export async function roomsOfTenant(db: DbOrTx, { tenantId }: Readonly<{ tenantId: string }>): Promise<string[]> {
  const rows = await db
    .selectFrom('spaces')
    .select('chat_room_id')
    .where('tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .where('chat_room_id', 'is not', null)
    .execute()
  return rows.map(({ chat_room_id }) => chat_room_id as string)
}

/** Ids of the chat rooms of the spaces that a user is a member of. */
export async function roomsOfMember(db: DbOrTx, { tenantId, userId }: Readonly<{ tenantId: string; userId: string }>): Promise<string[]> {
  const rows = await db
    .selectFrom('space_members')
    .innerJoin('spaces', 'spaces.id', 'space_id')
    .select('chat_room_id')
    .where('user_id', '=', userId)
    .where('spaces.tenant_id', '=', tenantId)
    .where('deleted_at', 'is', null)
    .where('chat_room_id', 'is not', null)
    .execute()
  return rows.map(({ chat_room_id }) => chat_room_id as string)
}

/** Those of the spaces that their members alone find. */
export async function privateOf(db: DbOrTx, spaceIds: readonly string[]): Promise<ReadonlySet<string>> {
  const query = db
    .selectFrom('spaces')
    .select('id')
    .where('id', 'in', [...spaceIds])
    .where('visibility', '!=', 'PRIVATE')
  const open = new Set((await query.execute()).map(({ id }) => id))
  return new Set(spaceIds.filter((id) => !open.has(id)))
}

type Viewer = Readonly<{ tenantId: string; userId: string }>

/** Ids of the spaces that are not private, and of those that the user is a member of, as a part of another statement. */
export const foundSpaces = (db: DbOrTx, { tenantId, userId }: Viewer) =>
  db
    .selectFrom('spaces')
    .leftJoin('space_members', (join) => join.onRef('space_id', '=', 'spaces.id').on('user_id', '=', userId))
    .select('spaces.id')
    .where('spaces.tenant_id', '=', tenantId)
    .where(({ eb, or }) => or([eb('visibility', '!=', 'PRIVATE'), eb('user_id', 'is not', null)]))

/** Ids of the spaces of a tenant that were not deleted, as a part of another statement. */
export const presentSpaces = (db: DbOrTx, { tenantId }: Pick<Viewer, 'tenantId'>) =>
  db.selectFrom('spaces').select('spaces.id').where('spaces.tenant_id', '=', tenantId).where('deleted_at', 'is', null)

/** True if the space is not private, or the user is its member. What is in no space hides nothing. */
export async function findsSpace(db: DbOrTx, { tenantId, userId }: Viewer, spaceId: string | null): Promise<boolean> {
  if (spaceId === null) return true
  return (await foundSpaces(db, { tenantId, userId }).where('spaces.id', '=', spaceId).executeTakeFirst()) !== undefined
}

/** True if the members alone find the space, also if it was deleted or is unknown. */
export async function isPrivateSpace(db: DbOrTx, { tenantId, spaceId }: OneSpace): Promise<boolean> {
  const query = db.selectFrom('spaces').select('visibility').where('id', '=', spaceId).where('tenant_id', '=', tenantId)
  return ((await query.executeTakeFirst())?.visibility ?? 'PRIVATE') === 'PRIVATE'
}
