import { pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../../core/kit/index.ts'
import type { StartableBoard } from '../../../core/runs/index.ts'
import { boardsOf, findStart } from '../boards/boards.repo.ts'
import type { RunsDeps } from './deps.ts'
import { mayStart, spaceStates } from './start-rights.ts'

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** Characters of the definitions that one page reads: two of the largest. */
const maxCharacters = 8_000_000

/**
 * The active boards of which the caller may start a run, newest first. A private space is named to its members alone. A page may have fewer
 * than `limit` boards although there is a next one. It does not use the cache of compiled boards: a list of many large boards would
 * remove the boards of other tenants from it. Throws VALIDATION for an invalid cursor.
 */
export async function listStartableBoards(deps: Pick<RunsDeps, 'db' | 'spacesOf'>, actor: PlatformPrincipal, { cursor, limit }: Page) {
  const { db } = deps
  const { tenantId } = actor
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  // Users start boards of private spaces too; `mayStart` decides.
  const found = await boardsOf(db, { tenantId, userId: null, status: 'active', after, limit: limit + 1 })
  const stateOf = spaceStates(deps, db, actor)
  const boards: StartableBoard[] = []
  let [read, characters] = [0, 0]
  for (const board of found.slice(0, limit)) {
    if (characters >= maxCharacters) break
    read++
    const { id, name, description, publishedSpaceId, publishedVersion: version } = board
    const spaceState = await stateOf(board)
    if (version === null || spaceState === 'deleted') continue
    const stored = await findStart(db, { tenantId, id }, version)
    if (!stored) continue
    const { start: definition } = stored
    characters += stored.characters
    if (!(await mayStart({ definition, actor, spaceState: async () => spaceState }))) continue
    const spaceId = spaceState === 'hidden' ? null : publishedSpaceId
    boards.push({ id, name, description, spaceId, acceptsSpace: publishedSpaceId === null, variables: definition.variables })
  }
  return { boards, nextCursor: pageOf(found, read, pageEnd).nextCursor }
}
