import { isoNow } from '../../core/kit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import type { SpacesDeps } from './deps.ts'
import { endMembership } from './end-membership.ts'
import { changeSpaceRow, findSpace, lockSpace } from './spaces.repo.ts'
import { enqueueSpaceSync } from './sync-jobs.ts'

type Deps = Pick<SpacesDeps, 'db' | 'clock'>

/** Ends all memberships of an erased user, each in a transaction of its own. A space may be without an owner then. */
export async function leaveAllSpaces(deps: Deps, user: Readonly<{ id: string; tenantId: string }>, signal?: AbortSignal): Promise<void> {
  const { id: userId, tenantId } = user
  const rows = await deps.db.selectFrom('space_members').select('space_id').where('user_id', '=', userId).orderBy('space_id').execute()
  for (const { space_id: spaceId } of rows) {
    signal?.throwIfAborted()
    await leaveSpace(deps, { tenantId, spaceId, userId })
  }
}

type Member = Readonly<{ tenantId: string; spaceId: string; userId: string }>

const leaveSpace = ({ db, clock }: Deps, { tenantId, spaceId, userId }: Member): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await lockSpace(tx, { tenantId, spaceId })
    const space = await findSpace(tx, { tenantId, spaceId })
    if (!space) return void (await tx.deleteFrom('space_members').where('space_id', '=', spaceId).where('user_id', '=', userId).execute())
    await changeSpaceRow(tx, { tenantId, spaceId }, { updatedAt: isoNow(clock) })
    await enqueueSpaceSync(tx, clock, space)
    await endMembership(tx, clock, { space, userId, actorId: null, reason: 'removed' })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
  })
