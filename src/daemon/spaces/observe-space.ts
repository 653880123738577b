import { problem } from '../../core/kit/index.ts'
import { type ObservedRoom, type ObservedSpace, type RoomKind, roomAliasName, roomKinds } from '../../core/spaces/index.ts'
import { beginDeletion, type Chat, dropAlias, findRoom, readRoom, resolveRoom } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { recordChatState, type SpaceRecord } from './spaces.repo.ts'

/**
 * Reads the rooms of a space from the chat. Records rooms found by alias, so that a lost alias does no harm later. If a known room is gone, the
 * space counts as not synced.
 */
export async function observeSpace(deps: Pick<SpacesDeps, 'db' | 'clock'>, chat: Chat, space: SpaceRecord): Promise<ObservedSpace> {
  const observed: { [Kind in RoomKind]?: ObservedRoom | undefined } = {}
  for (const kind of roomKinds) observed[kind] = await observeRoom(deps, { chat, space, kind })
  const known = { spaceRoomId: observed.space?.id ?? null, roomId: observed.room?.id ?? null }
  const changed = (was: string | null, is: string | null) => was !== null && was !== is
  if (known.spaceRoomId === space.spaceRoomId && known.roomId === space.roomId) return observed
  const isLost = changed(space.spaceRoomId, known.spaceRoomId) || changed(space.roomId, known.roomId)
  await recordChatState(deps.db, space.id, isLost ? { ...known, chatRevision: 0 } : known)
  return observed
}

type OfKind = Readonly<{ chat: Chat; space: SpaceRecord; kind: RoomKind }>

/** The recorded room, else the room of the alias. */
async function observeRoom({ clock }: Pick<SpacesDeps, 'clock'>, { chat, space, kind }: OfKind): Promise<ObservedRoom | undefined> {
  const known = knownRoom(space, kind)
  const read = known === null ? undefined : await readRoom(chat, known)
  if (read?.whole) return read.room
  return resolveRoom(chat, clock, roomAliasName(kind, space.id))
}

const knownRoom = ({ spaceRoomId, roomId }: SpaceRecord, kind: RoomKind): string | null => (kind === 'space' ? spaceRoomId : roomId)

const pollMs = 500
const maxPolls = 20

/** Deletes the rooms of a deleted space, including restored ones. Throws UNAVAILABLE while the server is deleting. */
export async function removeRooms(deps: Pick<SpacesDeps, 'clock'>, chat: Chat, space: SpaceRecord): Promise<ObservedSpace> {
  for (const kind of roomKinds) {
    const named = await findRoom(chat, { kind, spaceId: space.id })
    for (const roomId of new Set([knownRoom(space, kind), named])) if (roomId) await removeRoom(deps, chat, roomId)
    if (named !== undefined) await dropAlias(chat, { kind, spaceId: space.id })
  }
  return {}
}

/** A room created by another user that has the alias is not deleted. */
async function removeRoom({ clock }: Pick<SpacesDeps, 'clock'>, chat: Chat, roomId: string): Promise<void> {
  const there = await readRoom(chat, roomId)
  if (!there?.whole) return
  await beginDeletion(chat, roomId)
  for (let look = 0; look < maxPolls; look++) {
    if (!(await readRoom(chat, roomId))?.whole) return
    await clock.sleep(pollMs)
  }
  throw problem('UNAVAILABLE', `the chat server is still deleting the room ${roomId}`)
}
