import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../core/kit/index.ts'
import type { StartableBoard } from '../../core/runs/index.ts'
import { boardsOf } from '../boards/index.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import { mayStart, spaceStates } from './start-rights.ts'

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/**
 * The active boards of which the caller may start a run, newest first. A private space is named to its members alone. A page may have fewer
 * of them than `limit` and be followed by another. Throws VALIDATION for an invalid cursor.
 */
export async function listStartableBoards(deps: Pick<RunsDeps, 'db' | 'spacesOf'>, actor: PlatformPrincipal, { cursor, limit }: Page) {
  const { db } = deps
  const { tenantId } = actor
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const found = await boardsOf(db, { tenantId, status: 'active', after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  const stateOf = spaceStates(deps, db, actor)
  const boards: StartableBoard[] = []
  for (const board of page) {
    const { id, name, description, publishedSpaceId, publishedVersion: version } = board
    const spaceState = await stateOf(board)
    if (version === null || spaceState === 'deleted') continue
    const { definition } = await boardOf(db, { tenantId, boardId: id, version })
    if (!(await mayStart({ definition, actor, spaceState: async () => spaceState }))) continue
    const spaceId = spaceState === 'hidden' ? null : publishedSpaceId
    boards.push({ id, name, description, spaceId, acceptsSpace: publishedSpaceId === null, variables: definition.variables })
  }
  return { boards, nextCursor }
}
