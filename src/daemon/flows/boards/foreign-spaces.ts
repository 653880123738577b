import { type BoardDefinition, type BoardFinding, type SpaceUse, spaceUsesOf } from '../../../core/boards/index.ts'
import { findSpace } from '../../spaces/index.ts'
import type { BoardRecord } from './boards.repo.ts'
import type { BoardsDeps } from './deps.ts'
import { versionOf } from './show-boards.ts'

type Deps = Pick<BoardsDeps, 'db' | 'ownRoomsOf' | 'roomsOf' | 'spacesOf'>
type Published = Readonly<{ board: BoardRecord; userId: string }>

/**
 * Where the board would read or write in a space that the user is no member of: a board does it for its publisher. What the published version
 * does in the same place was accepted before. Rooms and spaces that do not exist are left to the other checks.
 */
export async function foreignSpaces(deps: Deps, definition: BoardDefinition, { board, userId }: Published): Promise<BoardFinding[]> {
  const user = { tenantId: board.tenantId, userId }
  const accepted = await acceptedUses(deps, board)
  const all = spaceUsesOf(definition)
  const uses = all.filter(({ key }) => !accepted.has(key))
  if (uses.length === 0) return []
  const ownRooms = new Set(await deps.ownRoomsOf(deps.db, user))
  const rooms = new Set(await deps.roomsOf(deps.db, user))
  // Without a space of its own, a run that a message starts is in the space of the room. Users start runs in spaces of their own.
  const isOwnSpace =
    board.spaceId === null
      ? all.every(({ type, room }) => type === 'write' || room === null || ownRooms.has(room))
      : (await deps.spacesOf(deps.db, user)).some(({ id }) => id === board.spaceId) ||
        !(await findSpace(deps.db, { tenantId: board.tenantId, spaceId: board.spaceId }))
  return uses.filter(({ room }) => (room === null ? !isOwnSpace : rooms.has(room) && !ownRooms.has(room))).map(findingOf)
}

/** The uses of the published version, while it is active. Those of the board's own space only if it is still in that space. */
async function acceptedUses({ db }: Deps, board: BoardRecord): Promise<ReadonlySet<string>> {
  if (board.publishedVersion === null || board.status === 'archived') return new Set()
  const { definition } = await versionOf(db, board, board.publishedVersion)
  const isSameSpace = board.publishedSpaceId === board.spaceId
  return new Set(
    spaceUsesOf(definition)
      .filter(({ room }) => room !== null || isSameSpace)
      .map(({ key }) => key),
  )
}

function findingOf({ path, elementId, room }: SpaceUse): BoardFinding {
  const place = room === null ? 'the space of the board' : `the space of the room ${room}`
  const message = `${path}: you are no member of ${place}. fix: let a member publish the board`
  return { severity: 'error', code: 'ROOM_FOREIGN', elementId, message }
}
