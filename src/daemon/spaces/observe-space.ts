import { type ObservedRoom, type ObservedSpace, type RoomKind, roomKinds } from '../../core/spaces/index.ts'
import { type Chat, dropAlias, findRoom, readRoom } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { recordChat, type SpaceRecord } from './spaces.repo.ts'

/**
 * What the chat has of a space. Rooms that were found by their name are noted, so that a lost name does no harm later; where one is gone that was
 * there, nothing of the space is in the chat any more until all of it is again.
 */
export async function observeSpace({ db }: Pick<SpacesDeps, 'db'>, chat: Chat, space: SpaceRecord): Promise<ObservedSpace> {
  const seen: { [Kind in RoomKind]?: ObservedRoom | undefined } = {}
  for (const kind of roomKinds) seen[kind] = await observeRoom(chat, space, kind)
  const known = { spaceRoomId: seen.space?.id ?? null, roomId: seen.room?.id ?? null }
  const lost = (was: string | null, is: string | null) => was !== null && was !== is
  if (known.spaceRoomId === space.spaceRoomId && known.roomId === space.roomId) return seen
  const isLost = lost(space.spaceRoomId, known.spaceRoomId) || lost(space.roomId, known.roomId)
  await recordChat(db, space.id, isLost ? { ...known, chatRevision: 0 } : known)
  return seen
}

/**
 * The room that is known, else the one that bears its name. A name on anything else, a room whose making broke off or one that somebody else
 * made, is freed.
 */
async function observeRoom(chat: Chat, space: SpaceRecord, kind: RoomKind): Promise<ObservedRoom | undefined> {
  const known = knownRoom(space, kind)
  const read = known === null ? undefined : await readRoom(chat, known)
  if (read?.whole) return read.room
  const found = await findRoom(chat, { kind, spaceId: space.id })
  if (found === undefined) return undefined
  const named = await readRoom(chat, found)
  if (named?.whole) return named.room
  await dropAlias(chat, { kind, spaceId: space.id })
  return undefined
}

export const knownRoom = ({ spaceRoomId, roomId }: SpaceRecord, kind: RoomKind): string | null => (kind === 'space' ? spaceRoomId : roomId)
