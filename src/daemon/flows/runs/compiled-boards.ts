import { LRUCache } from 'lru-cache'
import { type Board, compileBoard } from '../../../core/boards/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { findVersion } from '../boards/boards.repo.ts'

type Version = Readonly<{ tenantId: string; boardId: string; version: number }>

/**
 * Returns compiled versions of boards. Versions never change, so a compiled one can be reused by every step; the longest unused ones make room.
 * `characters`: of the definitions together, of which the largest has 4 million.
 */
export function compiledBoards({ boards, characters }: Readonly<{ boards: number; characters: number }>) {
  const compiled = new LRUCache<string, Board>({
    max: boards,
    maxSize: characters,
    sizeCalculation: ({ definition }) => JSON.stringify(definition).length,
  })
  return async (db: DbOrTx, version: Version): Promise<Board> => {
    const id = `${version.tenantId}/${version.boardId}/${version.version}`
    const known = compiled.get(id)
    if (known) return known
    const board = await compile(db, version)
    compiled.set(id, board)
    return board
  }
}

/** The compiled version of a board, which exists as long as its runs. */
export const boardOf = compiledBoards({ boards: 200, characters: 32_000_000 })

async function compile(db: DbOrTx, { tenantId, boardId, version }: Version): Promise<Board> {
  const found = await findVersion(db, { tenantId, id: boardId }, version)
  if (!found) throw new Error(`board ${boardId} has no version ${version}`)
  return compileBoard(found.definition)
}
