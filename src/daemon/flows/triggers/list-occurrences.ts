import { noSuchPage, type PageEnd, pageEnd, pageOf } from '../../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../../core/kit/index.ts'
import type { Db } from '../../db/index.ts'
import { readBoard } from '../boards/show-boards.ts'
import { occurrencesOf } from './occurrences.repo.ts'

type Listing = Readonly<{ id: string; cursor?: string | undefined; limit: number }>

/** A page of what the triggers of a board saw, newest first. Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function listOccurrences({ db }: Readonly<{ db: Db }>, actor: PlatformPrincipal, { id, cursor, limit }: Listing) {
  const { tenantId } = await readBoard(db, actor, id)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const found = await occurrencesOf(db, { tenantId, boardId: id, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ at, key }) => pageEnd({ createdAt: at, id: key }))
  return { occurrences: page.map(({ key: _, ...one }) => one), nextCursor }
}

/** Keys of occurrences have ids of chat events, which are no ids of the platform. */
function readCursor(cursor: string): PageEnd {
  const [, createdAt, id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([\x21-\x7e]{1,300})$/.exec(cursor) ?? []
  if (createdAt === undefined || id === undefined) throw noSuchPage()
  return { createdAt, id }
}
