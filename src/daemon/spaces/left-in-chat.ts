import { isoNow } from '../../core/kit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { endMembership } from './add-member.ts'
import type { SpacesDeps } from './deps.ts'
import { changeSpaceRow, lockSpace, type SpaceRecord } from './spaces.repo.ts'

type Left = Readonly<{ space: SpaceRecord; userId: string; chatJoinedAt: string | null }>

/** Who has left in the chat has left. Nobody can hold it there, the last owner neither: an administrator of the tenant sees to such a space. */
export const hasLeftInChat = ({ db, clock }: Pick<SpacesDeps, 'db' | 'clock'>, { space, userId, chatJoinedAt }: Left): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { id: spaceId, tenantId } = space
    await lockSpace(tx, { tenantId, spaceId })
    const member = await tx
      .selectFrom('space_members')
      .select('chat_joined_at')
      .where('space_id', '=', spaceId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    if (member?.chat_joined_at !== chatJoinedAt) return // put in anew since it was looked at
    await changeSpaceRow(tx, { tenantId, spaceId }, isoNow(clock))
    await endMembership(tx, clock, { space, userId, actorId: userId, reason: 'chat' })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
  })
