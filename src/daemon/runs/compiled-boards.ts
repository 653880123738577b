import { type Board, compileBoard } from '../../core/boards/index.ts'
import { findVersion } from '../boards/index.ts'
import type { DbOrTx } from '../db/index.ts'

type Version = Readonly<{ tenantId: string; boardId: string; version: number }>

const maxBoards = 200

/** Versions never change, so a compiled one can be reused by every step; the longest unused one makes room. */
const compiled = new Map<string, Board>()

/** The compiled version of a board, which exists as long as its runs. */
export async function boardOf(db: DbOrTx, { tenantId, boardId, version }: Version): Promise<Board> {
  const id = `${tenantId}/${boardId}/${version}`
  const board = compiled.get(id) ?? (await compile(db, { tenantId, boardId, version }))
  compiled.delete(id)
  compiled.set(id, board)
  for (const oldest of compiled.keys()) {
    if (compiled.size <= maxBoards) break
    compiled.delete(oldest)
  }
  return board
}

async function compile(db: DbOrTx, { tenantId, boardId, version }: Version): Promise<Board> {
  const found = await findVersion(db, { tenantId, id: boardId }, version)
  if (!found) throw new Error(`board ${boardId} has no version ${version}`)
  return compileBoard(found.definition)
}
