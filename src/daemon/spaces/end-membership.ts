import type { Clock } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { recordInSpace } from './activity.ts'
import { deleteMember } from './members.repo.ts'
import type { SpaceRecord } from './spaces.repo.ts'

/** Ends a membership. The audience includes the former member. Returns false if there was none. */
export async function endMembership(
  tx: Tx,
  clock: Clock,
  { space, userId, actorId, reason }: MemberChange & Readonly<{ reason: LeaveReason }>,
): Promise<boolean> {
  const { id: spaceId } = space
  if (!(await deleteMember(tx, { spaceId, userId }))) return false
  const audience = { users: [userId], spaces: [spaceId] }
  await recordInSpace(tx, clock, { space, type: 'user.left', payload: { userId, spaceId, reason }, actorId, audience })
  return true
}

export type MemberChange = Readonly<{ space: Pick<SpaceRecord, 'id' | 'tenantId'>; userId: string; actorId: string | null }>

/** `removed`: by another user. `chat`: the user left the rooms in the chat. */
export type LeaveReason = 'left' | 'removed' | 'chat'
