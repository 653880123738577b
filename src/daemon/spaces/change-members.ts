import { type Actor, type Clock, isoNow, type PlatformPrincipal, problem, type TenantId } from '../../core/kit/index.ts'
import type { SpaceMember, SpaceRole } from '../../core/spaces/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { isContact } from '../contacts/index.ts'
import type { Tx, WithTx } from '../db/index.ts'
import { findUserById } from '../users/index.ts'
import { findersOf, recordAllInSpace, recordInSpace } from './activity.ts'
import type { PutDeps, SpacesDeps } from './deps.ts'
import { endMembership, type MemberChange } from './end-membership.ts'
import { findMember, insertMember, otherOwners, roleIn, setRole } from './members.repo.ts'
import { authorizeSpace } from './show-spaces.ts'
import { changeSpaceRow, lockSpace, type SpaceRecord } from './spaces.repo.ts'
import { enqueueSpaceSync } from './sync-jobs.ts'

type Deps = Pick<SpacesDeps, 'db' | 'clock'>
type OneMember = Readonly<{ spaceId: string; userId: string }>
type Put = OneMember & Readonly<{ role: SpaceRole }>

/**
 * Adds a user of the tenant to a space or changes a member's role. Any user who finds a public space may join it. Users with manageSpaces may add
 * anyone, other owners only their contacts. Throws NOT_FOUND (space, user), FORBIDDEN, CONFLICT (last owner).
 */
export const putSpaceMember = (
  { db, clock, roles }: PutDeps,
  actor: PlatformPrincipal,
  { spaceId, userId, role }: Put,
): Promise<SpaceMember> =>
  db.transaction().execute(async (tx) => {
    const { tenantId } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space, rights } = await authorizeSpace(tx, actor, { spaceId })
    const joins = rights.join && userId === actor.userId && role === 'member'
    const before = await roleIn(tx, { spaceId, userId })
    if (!rights.manage && !(joins && before !== 'owner')) throw ownersOnly(space)
    const user = await findUserById(tx, userId)
    // Owners see existing members, even disabled ones.
    const mayPut = before !== null || actor.capabilities.includes('manageSpaces') || (await isContact({ db: tx, roles }, actor, userId))
    if (user?.tenantId !== tenantId || user.status === 'erased' || !mayPut)
      throw problem('NOT_FOUND', `User ${userId} does not exist, or you may not see it`)
    return putMember({ clock, tx }, { ...actor, actor }, { space, userId, role })
  })

const ownersOnly = ({ name }: SpaceRecord) => problem('FORBIDDEN', `${name} is managed by its owners. fix: ask one of them`)

export type Entry = Readonly<{ space: SpaceRecord; userId: string; role: SpaceRole }>

/** The user or program that changes a membership. `userId`: null for the platform and for automation tools. */
export type ChangedBy = Readonly<{ actor: Actor; userId: string | null; tenantId: TenantId; tenantSlug: string }>

/** Adds the user, or changes its role. The caller has locked the space and checked the user. */
export async function putMember(deps: WithTx<Pick<Deps, 'clock'>>, by: ChangedBy, entry: Entry): Promise<SpaceMember> {
  const { tx } = deps
  const one = { spaceId: entry.space.id, userId: entry.userId }
  const before = await roleIn(tx, one)
  if (before === null) await addToSpace(deps, by, entry)
  else if (before !== entry.role) await changeRole(deps, by, entry)
  return (await findMember(tx, one)) as SpaceMember
}

async function addToSpace({ clock, tx }: WithTx<Pick<Deps, 'clock'>>, by: ChangedBy, { space, userId, role }: Entry): Promise<void> {
  const { tenantId, tenantSlug, actor } = by
  await changeSpaceRow(tx, { tenantId, spaceId: space.id }, { updatedAt: isoNow(clock) })
  await enqueueSpaceSync(tx, clock, space)
  await addMember(tx, clock, { space, userId, role, actorId: by.userId })
  const data = await namesOf(tx, space, userId)
  await recordAudit(tx, clock, { actor, action: 'space.member-added', subject: tenantSlug, data: { ...data, role } })
}

async function changeRole({ clock, tx }: WithTx<Pick<Deps, 'clock'>>, by: ChangedBy, { space, userId, role }: Entry): Promise<void> {
  const spaceId = space.id
  if (role !== 'owner') await assertOtherOwner(tx, { spaceId, userId }, space)
  await setRole(tx, { spaceId, userId }, role)
  const payload = { spaceId, userId, role }
  await recordInSpace(tx, clock, { space, type: 'space.updated', payload, actorId: by.userId, audience: findersOf(space) })
  const data = { ...(await namesOf(tx, space, userId)), role }
  await recordAudit(tx, clock, { actor: by.actor, action: 'space.member-changed', subject: by.tenantSlug, data })
}

/** Ids and names for the audit log: a reader knows neither by its id, and both may be deleted by then. */
const namesOf = async (tx: Tx, space: Pick<SpaceRecord, 'id' | 'name'>, userId: string) => ({
  spaceId: space.id,
  space: space.name,
  userId,
  user: (await findUserById(tx, userId))?.localpart ?? null,
})

async function assertOtherOwner(tx: Tx, one: OneMember, { name }: SpaceRecord): Promise<void> {
  if ((await otherOwners(tx, one)) === 0)
    throw problem('CONFLICT', `${name} would have no owner. fix: make another member owner first, or delete the space`)
}

/** Removes a member; a caller that names itself leaves. Throws NOT_FOUND (space, member), FORBIDDEN, CONFLICT (last owner). */
export const removeSpaceMember = ({ db, clock }: Deps, actor: PlatformPrincipal, { spaceId, userId }: OneMember): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space, rights } = await authorizeSpace(tx, actor, { spaceId })
    const isOwn = userId === actor.userId
    if (!isOwn && !rights.manage) throw ownersOnly(space)
    const role = await roleIn(tx, { spaceId, userId })
    if (role === null) throw problem('NOT_FOUND', `${userId} is not a member of ${space.name}`)
    if (role === 'owner') await assertOtherOwner(tx, { spaceId, userId }, space)
    await changeSpaceRow(tx, { tenantId, spaceId }, { updatedAt: isoNow(clock) })
    await enqueueSpaceSync(tx, clock, space)
    await endMembership(tx, clock, { space, userId, actorId: actor.userId, reason: isOwn ? 'left' : 'removed' })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
    await recordAudit(tx, clock, { actor, action: 'space.member-removed', subject: tenantSlug, data: await namesOf(tx, space, userId) })
  })

/** Returns false, without an event, if the user is a member. */
async function addMember(
  tx: Tx,
  clock: Clock,
  { space, userId, role, actorId }: MemberChange & Readonly<{ role: SpaceRole }>,
): Promise<boolean> {
  const { id: spaceId, tenantId } = space
  if (!(await insertMember(tx, { spaceId, userId, tenantId, role, joinedAt: isoNow(clock) }))) return false
  await recordJoined(tx, clock, { space, userId, actorId })
  return true
}

export const recordJoined = (tx: Tx, clock: Clock, { space, userId, actorId }: MemberChange): Promise<void> =>
  recordInSpace(tx, clock, { space, type: 'user.joined', payload: { userId, spaceId: space.id }, actorId })

type MembersOfDeleted = Pick<MemberChange, 'space' | 'actorId'> & Readonly<{ userIds: readonly string[] }>

/** Records the end of all memberships of a deleted space in few statements: a space may have thousands of members. */
export async function recordDeletedFor(tx: Tx, clock: Clock, { space, actorId, userIds }: MembersOfDeleted): Promise<void> {
  if (userIds.length === 0) return
  const left = (userId: string) => ({
    type: 'user.left' as const,
    payload: { userId, spaceId: space.id, reason: 'space_deleted' },
    audience: { users: [userId] },
  })
  await recordAllInSpace(tx, clock, { space, actorId, all: userIds.map(left) })
}
