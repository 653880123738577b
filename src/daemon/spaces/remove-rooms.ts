import { problem } from '../../core/kit/index.ts'
import { type ObservedSpace, roomKinds } from '../../core/spaces/index.ts'
import { beginDeletion, type Chat, dropAlias, findRoom, readRoom } from './chat-rooms.ts'
import type { SpacesDeps } from './deps.ts'
import { knownRoom } from './observe-space.ts'
import type { SpaceRecord } from './spaces.repo.ts'

const lookMs = 500
const looks = 20

/** Takes the rooms of a deleted space out of the chat, those too that a restore brought back. Throws UNAVAILABLE while the server is at it. */
export async function removeRooms(deps: Pick<SpacesDeps, 'clock'>, chat: Chat, space: SpaceRecord): Promise<ObservedSpace> {
  for (const kind of roomKinds) {
    const named = await findRoom(chat, { kind, spaceId: space.id })
    for (const roomId of new Set([knownRoom(space, kind), named])) if (roomId) await removeRoom(deps, chat, roomId)
    if (named !== undefined) await dropAlias(chat, { kind, spaceId: space.id })
  }
  return {}
}

/** Somebody else's room that took the name is none of ours. */
async function removeRoom({ clock }: Pick<SpacesDeps, 'clock'>, chat: Chat, roomId: string): Promise<void> {
  const there = await readRoom(chat, roomId)
  if (!there?.whole) return
  await beginDeletion(chat, roomId)
  for (let look = 0; look < looks; look++) {
    if (!(await readRoom(chat, roomId))?.whole) return
    await clock.sleep(lookMs)
  }
  throw problem('UNAVAILABLE', `the chat server is still deleting the room ${roomId}`)
}
