import { isoNow, newId, type PlatformPrincipal } from '../../core/kit/index.ts'
import type { Space, SpaceId, SpaceType, SpaceVisibility } from '../../core/spaces/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { findersOf, recordInSpace } from './activity.ts'
import { recordDeletedFor, recordJoined } from './change-members.ts'
import type { SpacesDeps } from './deps.ts'
import { deleteMembers, insertMember } from './members.repo.ts'
import { authorizeSpace, spaceView } from './show-spaces.ts'
import { changeSpaceRow, findSpace, insertSpace, lockSpace, type SpaceRecord, spaceById } from './spaces.repo.ts'
import { enqueueSpaceSync, syncSoon } from './sync-jobs.ts'

type NewSpace = Readonly<{ name: string; type: SpaceType; visibility: SpaceVisibility }>

/** Maximum time that the response waits for the chat server. */
const waitMs = 5000

/** Creates a space owned by the caller. It exists once this commits; its rooms follow as soon as the chat server accepts writes. */
export async function createSpace(deps: SpacesDeps, actor: PlatformPrincipal, { name, type, visibility }: NewSpace): Promise<Space> {
  const { db, clock, random } = deps
  const { userId, tenantId, tenantSlug } = actor
  const at = isoNow(clock)
  const made: SpaceRecord = {
    ...{ id: newId<SpaceId>(random, 'spc'), tenantId, name, type, visibility, revision: 1, chatRevision: 0 },
    ...{ spaceRoomId: null, roomId: null, createdBy: userId, createdAt: at, updatedAt: at, deletedAt: null },
  }
  await db.transaction().execute(async (tx) => {
    await insertSpace(tx, made)
    await enqueueSpaceSync(tx, clock, made)
    // Lock order: before the first event, which locks the tenant's event counter. A concurrent disable locks the user's row and then the counter.
    await insertMember(tx, { spaceId: made.id, userId, tenantId, role: 'owner', joinedAt: at })
    const payload = { spaceId: made.id, name }
    await recordInSpace(tx, clock, { space: made, type: 'space.created', payload, actorId: userId, audience: findersOf(made) })
    await recordJoined(tx, clock, { space: made, userId, actorId: userId })
    await recordAudit(tx, clock, {
      actor,
      action: 'space.created',
      subject: tenantSlug,
      data: { spaceId: made.id, name, type, visibility },
    })
  })
  await syncSoon(deps, made.id, waitMs)
  return spaceView((await spaceById(db, made.id)) ?? made, 'owner')
}

type Deps = Pick<SpacesDeps, 'db' | 'clock'>
type OneSpace = Readonly<{ spaceId: string }>
type Changes = Readonly<{ name?: string | undefined; visibility?: SpaceVisibility | undefined }>

/** Changes name or visibility; unchanged values are neither stored nor published. Throws NOT_FOUND, FORBIDDEN. */
export const changeSpace = (
  { db, clock }: Deps,
  actor: PlatformPrincipal,
  { spaceId, name, visibility }: OneSpace & Changes,
): Promise<Space> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug, userId } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space, role } = await authorizeSpace(tx, actor, { spaceId, right: 'manage' })
    const changes = {
      ...(name === undefined || name === space.name ? {} : { name }),
      ...(visibility === undefined || visibility === space.visibility ? {} : { visibility }),
    }
    if (Object.keys(changes).length === 0) return spaceView(space, role)
    await changeSpaceRow(tx, { tenantId, spaceId }, { updatedAt: isoNow(clock), changes })
    await enqueueSpaceSync(tx, clock, space)
    const now = (await findSpace(tx, { tenantId, spaceId })) ?? space
    // Users who could find it before learn that it is hidden now.
    const audience = space.visibility === 'PRIVATE' ? findersOf(now) : 'tenant'
    await recordInSpace(tx, clock, { space, type: 'space.updated', payload: { spaceId, ...changes }, actorId: userId, audience })
    await recordAudit(tx, clock, { actor, action: 'space.updated', subject: tenantSlug, data: { spaceId, ...changes } })
    return spaceView(now, role)
  })

/** Ends all memberships and enqueues the deletion of the rooms. Throws NOT_FOUND, FORBIDDEN. */
export const deleteSpace = ({ db, clock }: Deps, actor: PlatformPrincipal, { spaceId }: OneSpace): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug, userId } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space } = await authorizeSpace(tx, actor, { spaceId, right: 'manage' })
    const members = await deleteMembers(tx, spaceId)
    const at = isoNow(clock)
    await changeSpaceRow(tx, { tenantId, spaceId }, { updatedAt: at, changes: { deleted_at: at } })
    await enqueueSpaceSync(tx, clock, space)
    await recordDeletedFor(tx, clock, { space, actorId: userId, userIds: members })
    const audience = space.visibility === 'PRIVATE' && members.length > 0 ? { users: members } : 'tenant'
    await recordInSpace(tx, clock, { space, type: 'space.deleted', payload: { spaceId }, actorId: userId, audience })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
    await recordAudit(tx, clock, { actor, action: 'space.deleted', subject: tenantSlug, data: { spaceId, name: space.name } })
  })
