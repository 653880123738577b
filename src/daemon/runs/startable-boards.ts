import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import type { StartableBoard } from '../../core/runs/index.ts'
import { boardsOf } from '../boards/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import { mayStart } from './start-run.ts'

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/**
 * The active boards of which the caller may start a run, newest first. A page may have fewer of them than `limit` and be followed by another.
 * Throws VALIDATION for an invalid cursor.
 */
export async function listStartableBoards({ db }: Pick<RunsDeps, 'db'>, actor: PlatformPrincipal, { cursor, limit }: Page) {
  const { tenantId } = actor
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const found = await boardsOf(db, { tenantId, status: 'active', after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  const boards: StartableBoard[] = []
  for (const { id, name, description, publishedSpaceId: spaceId, publishedVersion } of page) {
    if (publishedVersion === null) continue
    const { definition } = await boardOf(db, { tenantId, boardId: id, version: publishedVersion })
    if (mayStart(definition, actor)) boards.push({ id, name, description, spaceId, variables: definition.variables })
  }
  return { boards, nextCursor }
}
