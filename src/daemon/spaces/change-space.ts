import { isoNow, type PlatformPrincipal } from '../../core/kit/index.ts'
import type { Space, SpaceVisibility } from '../../core/spaces/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { tellDeleted } from './add-member.ts'
import type { SpacesDeps } from './deps.ts'
import { followInChat } from './follow-in-chat.ts'
import { deleteMembers } from './members.repo.ts'
import { openSpace } from './open-space.ts'
import { recordInSpace, whoFinds } from './record-in-space.ts'
import { spaceView } from './show-spaces.ts'
import { changeSpaceRow, findSpace, lockSpace } from './spaces.repo.ts'

type Deps = Pick<SpacesDeps, 'db' | 'clock'>
type OneSpace = Readonly<{ spaceId: string }>
type Changes = Readonly<{ name?: string | undefined; visibility?: SpaceVisibility | undefined }>

/** What is not named stays; what is so already is neither stored nor told. Throws NOT_FOUND, FORBIDDEN. */
export const changeSpace = (
  { db, clock }: Deps,
  actor: PlatformPrincipal,
  { spaceId, name, visibility }: OneSpace & Changes,
): Promise<Space> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug, userId } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space, role } = await openSpace(tx, actor, { spaceId, right: 'manage' })
    const changes = {
      ...(name === undefined || name === space.name ? {} : { name }),
      ...(visibility === undefined || visibility === space.visibility ? {} : { visibility }),
    }
    if (Object.keys(changes).length === 0) return spaceView(space, role)
    await changeSpaceRow(tx, { tenantId, spaceId }, isoNow(clock), changes)
    await followInChat(tx, clock, space)
    const now = (await findSpace(tx, { tenantId, spaceId })) ?? space
    // Whoever found it before hears that it is gone from sight.
    const audience = space.visibility === 'PRIVATE' ? whoFinds(now) : 'tenant'
    await recordInSpace(tx, clock, { space, type: 'space.updated', payload: { spaceId, ...changes }, actorId: userId, audience })
    await recordAudit(tx, clock, { actor, action: 'space.updated', subject: tenantSlug, data: { spaceId, ...changes } })
    return spaceView(now, role)
  })

/** Ends all memberships and takes the rooms out of the chat. Throws NOT_FOUND, FORBIDDEN. */
export const deleteSpace = ({ db, clock }: Deps, actor: PlatformPrincipal, { spaceId }: OneSpace): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug, userId } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space } = await openSpace(tx, actor, { spaceId, right: 'manage' })
    const members = await deleteMembers(tx, spaceId)
    const at = isoNow(clock)
    await changeSpaceRow(tx, { tenantId, spaceId }, at, { deleted_at: at })
    await followInChat(tx, clock, space)
    await tellDeleted(tx, clock, { space, actorId: userId, userIds: members })
    const audience = space.visibility === 'PRIVATE' && members.length > 0 ? { users: members } : 'tenant'
    await recordInSpace(tx, clock, { space, type: 'space.deleted', payload: { spaceId }, actorId: userId, audience })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
    await recordAudit(tx, clock, { actor, action: 'space.deleted', subject: tenantSlug, data: { spaceId, name: space.name } })
  })
