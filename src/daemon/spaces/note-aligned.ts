import type { ObservedSpace } from '../../core/spaces/index.ts'
import { recordEvent } from '../events/index.ts'
import type { SpacesDeps } from './deps.ts'
import { whoFinds } from './record-in-space.ts'
import { lockSpace, recordChat, type SpaceRecord, spaceRecord } from './spaces.repo.ts'

type Deps = Pick<SpacesDeps, 'db' | 'clock'>

/**
 * Notes that the chat is as the space was when it was read; false when it has changed since. That its rooms stand is told once: when they were made,
 * and when they were made again. It is no part of the activity of the space, for nobody in it did it.
 */
export async function recordAligned(deps: Deps, space: SpaceRecord, seen: ObservedSpace): Promise<boolean> {
  const aligned = { spaceRoomId: seen.space?.id ?? null, roomId: seen.room?.id ?? null, chatRevision: space.revision }
  const isKnown = space.chatRevision !== 0 && aligned.spaceRoomId === space.spaceRoomId && aligned.roomId === space.roomId
  if (space.deletedAt === null && !isKnown) return recordStanding(deps, space, aligned)
  await recordChat(deps.db, space.id, aligned)
  return (await spaceRecord(deps.db, space.id))?.revision === space.revision
}

const recordStanding = ({ db, clock }: Deps, space: SpaceRecord, aligned: Parameters<typeof recordChat>[2]): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const { id: spaceId, tenantId } = space
    await lockSpace(tx, { tenantId, spaceId })
    const now = await spaceRecord(tx, spaceId)
    if (now?.revision !== space.revision) return false
    await recordChat(tx, spaceId, aligned)
    if (now.chatRevision === 0)
      await recordEvent(tx, clock, { tenantId, type: 'space.ready', payload: { spaceId }, audience: whoFinds(now) })
    return true
  })
