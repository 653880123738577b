import { type BoardStart, boundRole } from '../../../core/boards/index.ts'
import { type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import { mayActOn } from '../../../core/runs/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { findSpace } from '../../spaces/index.ts'
import type { BoardRecord } from '../boards/boards.repo.ts'
import type { RunsDeps } from './deps.ts'

/** The space of a board as a user knows it. `hidden`: it is private, and the user is no member. */
type SpaceState = 'none' | 'visible' | 'hidden' | 'deleted'

/** Reads the spaces of boards as a user knows them, each at most once. */
export function spaceStates({ spacesOf }: Pick<RunsDeps, 'spacesOf'>, db: DbOrTx, actor: PlatformPrincipal) {
  const { tenantId } = actor
  let own: ReturnType<typeof spacesOf> | undefined
  const known = new Map<string, Promise<SpaceState>>()
  const read = async (spaceId: string): Promise<SpaceState> => {
    own ??= spacesOf(db, actor)
    if ((await own).some(({ id }) => id === spaceId)) return 'visible'
    const space = await findSpace(db, { tenantId, spaceId })
    return space === undefined ? 'deleted' : space.visibility === 'PRIVATE' ? 'hidden' : 'visible'
  }
  return async ({ publishedSpaceId: spaceId }: Pick<BoardRecord, 'publishedSpaceId'>): Promise<SpaceState> => {
    if (spaceId === null) return 'none'
    const spaceState = known.get(spaceId) ?? read(spaceId)
    known.set(spaceId, spaceState)
    return spaceState
  }
}

type Start = Pick<BoardStart, 'startRoles' | 'bindings'>
type Asked = Readonly<{ definition: Start; actor: PlatformPrincipal; spaceState: () => Promise<SpaceState> }>

/**
 * Users with a role that the board names may start it without being members of its space: staff start an alarm of the crisis team. If it names
 * no role, every user who sees the space may start it.
 */
export const mayStart = async ({ definition, actor, spaceState }: Asked): Promise<boolean> =>
  definition.startRoles.length === 0 ? (await spaceState()) !== 'hidden' : mayActOn(startRolesOf(definition), actor)

const startRolesOf = (definition: Start): string[] =>
  definition.startRoles.map((ref) => boundRole(definition, ref)).filter((role) => role !== undefined)

/** Throws FORBIDDEN, which names neither a hidden board nor its roles. */
export async function assertMayStart({ board, ...asked }: Asked & Readonly<{ board: BoardRecord }>): Promise<void> {
  if (await mayStart(asked)) return
  if ((await asked.spaceState()) === 'hidden')
    throw problem('FORBIDDEN', `You may not start runs of board ${board.id}. fix: ask a member of its space`)
  throw problem('FORBIDDEN', `Runs of "${board.name}" are started by these roles: ${startRolesOf(asked.definition).join(', ')}.`)
}
