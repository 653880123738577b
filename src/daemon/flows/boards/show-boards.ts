import type { BoardDefinition, BoardSummary } from '../../../core/boards/index.ts'
import { noSuchPage, pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { problem } from '../../../core/kit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import {
  type BoardReader,
  type BoardRecord,
  type BoardVersion,
  boardsOf,
  findBoard,
  findVersion,
  seesBoard,
  versionsOf,
} from './boards.repo.ts'
import type { BoardsDeps } from './deps.ts'

type Deps = Pick<BoardsDeps, 'db'>
type One = Readonly<{ id: string }>
type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** A board as lists return it. */
export const summaryOf = ({ tenantId: _, createdBy: __, publishedSpaceId: ___, ...summary }: BoardRecord): BoardSummary => summary

export const noSuchBoard = (id: string, fix = 'list the boards') => problem('NOT_FOUND', `Board ${id} does not exist. fix: ${fix}`)

/** For users who may not list all boards. */
export const noSuchStartable = (id: string) =>
  noSuchBoard(id, '`tenantry runs startable` lists the boards that you may start (GET /cascade-boards/startable)')

/** A page of the tenant's boards that the caller sees, newest first. Throws VALIDATION for an invalid cursor. */
export async function listBoards(
  { db }: Deps,
  { tenantId, userId }: BoardReader,
  { cursor, limit, status }: Page & Readonly<{ status?: BoardSummary['status'] | undefined }>,
) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const found = await boardsOf(db, { tenantId, userId, status, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  return { boards: page.map(summaryOf), nextCursor }
}

/** A board that the caller sees. The same answer for a missing one and one of a private space. Throws NOT_FOUND. */
export async function readBoard(db: DbOrTx, reader: BoardReader, id: string): Promise<BoardRecord> {
  const board = await findBoard(db, { tenantId: reader.tenantId, id })
  if (!board || !(await seesBoard(db, reader, board))) throw noSuchBoard(id)
  return board
}

/** A board with its last saved definition. Throws NOT_FOUND. */
export async function showBoard({ db }: Deps, reader: BoardReader, { id }: One): Promise<BoardSummary & { definition: BoardDefinition }> {
  const board = await readBoard(db, reader, id)
  const { definition } = await versionOf(db, board, board.version)
  return { ...summaryOf(board), definition }
}

/** A version that the board names; it is there as long as the board. */
export async function versionOf(db: DbOrTx, board: BoardRecord, version: number): Promise<BoardVersion> {
  const found = await findVersion(db, board, version)
  if (!found) throw new Error(`board ${board.id} has no version ${version}`)
  return found
}

/** A page of the versions of a board, newest first. Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function listVersions({ db }: Deps, reader: BoardReader, { id, cursor, limit }: One & Page) {
  const board = await readBoard(db, reader, id)
  if (cursor !== undefined && !/^\d{1,9}$/.test(cursor)) throw noSuchPage()
  const found = await versionsOf(db, board, { before: cursor === undefined ? undefined : Number(cursor), limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ version }) => String(version))
  return { versions: page, nextCursor }
}

/** One version of a board. Throws NOT_FOUND. */
export async function showVersion(
  { db }: Deps,
  reader: BoardReader,
  { id, version }: One & Readonly<{ version: number }>,
): Promise<BoardVersion> {
  const found = await findVersion(db, await readBoard(db, reader, id), version)
  if (!found) throw problem('NOT_FOUND', `Board ${id} has no version ${version}. fix: list its versions`)
  return found
}
