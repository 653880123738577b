import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { SpaceRole } from '../../core/spaces/index.ts'
import type { Tx } from '../db/index.ts'
import { deleteMember, insertMember } from './members.repo.ts'
import { recordAllInSpace, recordInSpace } from './record-in-space.ts'
import type { SpaceRecord } from './spaces.repo.ts'

type OfSpace = Readonly<{ space: Pick<SpaceRecord, 'id' | 'tenantId'>; userId: string; actorId: string | null }>

/** False when the user was a member: then nothing happened. */
export async function addMember(
  tx: Tx,
  clock: Clock,
  { space, userId, role, actorId }: OfSpace & Readonly<{ role: SpaceRole }>,
): Promise<boolean> {
  const { id: spaceId, tenantId } = space
  if (!(await insertMember(tx, { spaceId, userId, tenantId, role, joinedAt: isoNow(clock) }))) return false
  await tellJoined(tx, clock, { space, userId, actorId })
  return true
}

export const tellJoined = (tx: Tx, clock: Clock, { space, userId, actorId }: OfSpace): Promise<void> =>
  recordInSpace(tx, clock, { space, type: 'user.joined', payload: { userId, spaceId: space.id }, actorId })

/** `removed` by somebody else; `chat`: left the rooms in the chat. */
type Reason = 'left' | 'removed' | 'chat'

/** Ends a membership; who has left hears of it too. False when there was none. */
export async function endMembership(
  tx: Tx,
  clock: Clock,
  { space, userId, actorId, reason }: OfSpace & Readonly<{ reason: Reason }>,
): Promise<boolean> {
  const { id: spaceId } = space
  if (!(await deleteMember(tx, { spaceId, userId }))) return false
  const audience = { users: [userId], spaces: [spaceId] }
  await recordInSpace(tx, clock, { space, type: 'user.left', payload: { userId, spaceId, reason }, actorId, audience })
  return true
}

type AllOf = Pick<OfSpace, 'space' | 'actorId'> & Readonly<{ userIds: readonly string[] }>

/** Tells each of those who were in a space that was deleted, in few statements: a space may have thousands, and others wait for the transaction. */
export async function tellDeleted(tx: Tx, clock: Clock, { space, actorId, userIds }: AllOf): Promise<void> {
  if (userIds.length === 0) return
  const left = (userId: string) => ({
    type: 'user.left' as const,
    payload: { userId, spaceId: space.id, reason: 'space_deleted' },
    audience: { users: [userId] },
  })
  await recordAllInSpace(tx, clock, { space, actorId, all: userIds.map(left) })
}
