import { BoardDefinition, BoardStart, type BoardSummary } from '../../../core/boards/index.ts'
import type { PageEnd } from '../../../core/contract/index.ts'
import { type DbOrTx, forNoKeyUpdate, newestFirst, readRow, type Tx } from '../../db/index.ts'
import { findSpace, findsSpace, foundSpaces, presentSpaces } from '../../spaces/index.ts'
import type { BoardTable } from './boards.tables.ts'

export type BoardRecord = BoardSummary & Readonly<{ tenantId: string; createdBy: string | null; publishedSpaceId: string | null }>

const columns = [
  ...(['id', 'tenant_id', 'space_id', 'name', 'description', 'status', 'version', 'published_version', 'published_space_id'] as const),
  ...(['created_by', 'created_at', 'updated_at'] as const),
]

const toBoard = (row: BoardTable): BoardRecord => ({
  id: row.id,
  tenantId: row.tenant_id,
  spaceId: row.space_id,
  name: row.name,
  description: row.description,
  status: row.status,
  version: Number(row.version),
  publishedVersion: row.published_version === null ? null : Number(row.published_version),
  publishedSpaceId: row.published_space_id,
  createdBy: row.created_by,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

const toRow = (board: BoardRecord): BoardTable => ({
  id: board.id,
  tenant_id: board.tenantId,
  space_id: board.spaceId,
  name: board.name,
  description: board.description,
  status: board.status,
  version: board.version,
  published_version: board.publishedVersion,
  published_space_id: board.publishedSpaceId,
  created_by: board.createdBy,
  created_at: board.createdAt,
  updated_at: board.updatedAt,
})

type One = Readonly<{ tenantId: string; id: string }>

export async function findBoard(db: DbOrTx, { tenantId, id }: One): Promise<BoardRecord | undefined> {
  const row = await readRow(db, { table: 'boards', columns, where: { tenant_id: tenantId, id } })
  return row && toBoard(row)
}

/** The board, locked until the transaction ends. Runs still start: a trigger that waited here could deadlock with a publication. */
export async function lockBoard(tx: Tx, { tenantId, id }: One): Promise<BoardRecord | undefined> {
  const query = tx.selectFrom('boards').selectAll().where('tenant_id', '=', tenantId).where('id', '=', id)
  const row = await query.modifyEnd(forNoKeyUpdate(tx)).executeTakeFirst()
  return row && toBoard(row)
}

export async function insertBoard(tx: Tx, board: BoardRecord): Promise<void> {
  await tx.insertInto('boards').values(toRow(board)).execute()
}

/** The caller holds the lock of the board. */
export async function replaceBoard(tx: Tx, board: BoardRecord): Promise<void> {
  await tx.updateTable('boards').set(toRow(board)).where('tenant_id', '=', board.tenantId).where('id', '=', board.id).execute()
}

export async function deleteBoardRow(tx: Tx, { tenantId, id }: One): Promise<void> {
  await tx.deleteFrom('board_versions').where('tenant_id', '=', tenantId).where('board_id', '=', id).execute()
  await tx.deleteFrom('boards').where('tenant_id', '=', tenantId).where('id', '=', id).execute()
}

/** A user; null for an operator, who reads the boards of every space. */
export type BoardReader = Readonly<{ tenantId: string; userId: string | null }>

/**
 * True unless the board is, or its new runs are, in a private space that the user is no member of. A deleted space has no members: then its author
 * saves it with another one, or archives it.
 */
export async function seesBoard(db: DbOrTx, { tenantId, userId }: BoardReader, board: BoardRecord): Promise<boolean> {
  if (userId === null) return true
  for (const spaceId of new Set([board.spaceId, board.publishedSpaceId]))
    if (
      !(await findsSpace(db, { tenantId, userId }, spaceId)) &&
      !(board.createdBy === userId && (await isDeleted(db, { tenantId, spaceId })))
    )
      return false
  return true
}

const isDeleted = async (db: DbOrTx, { tenantId, spaceId }: Readonly<{ tenantId: string; spaceId: string | null }>): Promise<boolean> =>
  spaceId !== null && (await findSpace(db, { tenantId, spaceId })) === undefined

type Listing = Readonly<{
  tenantId: string
  /** Only boards that this user sees (`seesBoard`); null: all. */
  userId: string | null
  status?: BoardSummary['status'] | undefined
  after?: PageEnd | undefined
  limit: number
}>

/** Boards of a tenant, newest first. */
export async function boardsOf(db: DbOrTx, { tenantId, userId, status, after, limit }: Listing): Promise<BoardRecord[]> {
  let query = newestFirst(db.selectFrom('boards').selectAll().where('tenant_id', '=', tenantId), { after, limit })
  if (status) query = query.where('status', '=', status)
  if (userId !== null)
    for (const column of ['space_id', 'published_space_id'] as const)
      query = query.where(({ eb, or, and }) =>
        or([
          eb(column, 'is', null),
          eb(column, 'in', foundSpaces(db, { tenantId, userId })),
          and([eb('created_by', '=', userId), eb(column, 'not in', presentSpaces(db, { tenantId }))]),
        ]),
      )
  return (await query.execute()).map(toBoard)
}

export type BoardVersion = Readonly<{ version: number; definition: BoardDefinition; savedBy: string | null; savedAt: string }>

/** One version of a board; it never changes. A field that the stored text lacks has its default. */
export async function findVersion(db: DbOrTx, { tenantId, id }: One, version: number): Promise<BoardVersion | undefined> {
  const row = await db
    .selectFrom('board_versions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('board_id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst()
  return row && { version, definition: BoardDefinition.parse(JSON.parse(row.definition)), savedBy: row.saved_by, savedAt: row.saved_at }
}

/** The start of a version. `characters`: of the whole definition, which is read and parsed for it. */
export async function findStart(
  db: DbOrTx,
  { tenantId, id }: One,
  version: number,
): Promise<Readonly<{ start: BoardStart; characters: number }> | undefined> {
  const query = db.selectFrom('board_versions').select('definition').where('tenant_id', '=', tenantId).where('board_id', '=', id)
  const row = await query.where('version', '=', version).executeTakeFirst()
  return row && { start: BoardStart.parse(JSON.parse(row.definition)), characters: row.definition.length }
}

type Versions = Readonly<{ before?: number | undefined; limit: number }>

/** The versions of a board without their definitions, newest first. */
export async function versionsOf(
  db: DbOrTx,
  { tenantId, id }: One,
  { before, limit }: Versions,
): Promise<Omit<BoardVersion, 'definition'>[]> {
  let query = db
    .selectFrom('board_versions')
    .select(['version', 'saved_by', 'saved_at'])
    .where('tenant_id', '=', tenantId)
    .where('board_id', '=', id)
    .orderBy('version', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('version', '<', before)
  return (await query.execute()).map((row) => ({ version: Number(row.version), savedBy: row.saved_by, savedAt: row.saved_at }))
}
