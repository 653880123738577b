import { isoNow, type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import type { SpaceMember, SpaceRole } from '../../core/spaces/index.ts'
import { recordAudit } from '../audit/index.ts'
import { publishRevocation } from '../auth/index.ts'
import { isContact } from '../contacts/index.ts'
import type { Tx } from '../db/index.ts'
import { findUserById } from '../users/index.ts'
import { addMember, endMembership } from './add-member.ts'
import type { PutDeps, SpacesDeps } from './deps.ts'
import { followInChat } from './follow-in-chat.ts'
import { findMember, otherOwners, roleIn, setRole } from './members.repo.ts'
import { openSpace } from './open-space.ts'
import { recordInSpace, whoFinds } from './record-in-space.ts'
import { changeSpaceRow, lockSpace, type SpaceRecord } from './spaces.repo.ts'

type Deps = Pick<SpacesDeps, 'db' | 'clock'>
type OneMember = Readonly<{ spaceId: string; userId: string }>
type Put = OneMember & Readonly<{ role: SpaceRole }>

/**
 * Puts a user of the tenant into a space, or gives a member another role; whoever finds a public one joins it by itself, as member. Who makes spaces
 * may put anybody in, other owners whom they may see. Throws NOT_FOUND (space, user), FORBIDDEN, CONFLICT (its last owner).
 */
export const putSpaceMember = (
  { db, clock, roles }: PutDeps,
  actor: PlatformPrincipal,
  { spaceId, userId, role }: Put,
): Promise<SpaceMember> =>
  db.transaction().execute(async (tx) => {
    const { tenantId } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space, rights } = await openSpace(tx, actor, { spaceId })
    const joins = rights.join && userId === actor.userId && role === 'member'
    const before = await roleIn(tx, { spaceId, userId })
    if (!rights.manage && !(joins && before !== 'owner')) throw ownersOnly(space)
    const user = await findUserById(tx, userId)
    // Who is in it already, disabled or not, its owners find among the members.
    const mayPut = before !== null || actor.capabilities.includes('manageSpaces') || (await isContact(tx, roles, actor, userId))
    if (user?.tenantId !== tenantId || !mayPut) throw problem('NOT_FOUND', `there is no user ${userId} that you may see`)
    if (before === null) await enter({ clock }, tx, actor, { space, userId, role })
    else if (before !== role) await changeRole({ clock }, tx, actor, { space, userId, role })
    return (await findMember(tx, { spaceId, userId })) as SpaceMember
  })

const ownersOnly = ({ name }: SpaceRecord) => problem('FORBIDDEN', `${name} is managed by its owners: ask one of them`)

type Entry = Readonly<{ space: SpaceRecord; userId: string; role: SpaceRole }>

async function enter({ clock }: Pick<Deps, 'clock'>, tx: Tx, actor: PlatformPrincipal, { space, userId, role }: Entry): Promise<void> {
  const { tenantId, tenantSlug } = actor
  await changeSpaceRow(tx, { tenantId, spaceId: space.id }, isoNow(clock))
  await followInChat(tx, clock, space)
  await addMember(tx, clock, { space, userId, role, actorId: actor.userId })
  const data = { spaceId: space.id, userId, role }
  await recordAudit(tx, clock, { actor, action: 'space.member-added', subject: tenantSlug, data })
}

async function changeRole({ clock }: Pick<Deps, 'clock'>, tx: Tx, actor: PlatformPrincipal, { space, userId, role }: Entry): Promise<void> {
  const spaceId = space.id
  if (role !== 'owner') await keepAnOwner(tx, { spaceId, userId }, space)
  await setRole(tx, { spaceId, userId }, role)
  const payload = { spaceId, userId, role }
  await recordInSpace(tx, clock, { space, type: 'space.updated', payload, actorId: actor.userId, audience: whoFinds(space) })
  await recordAudit(tx, clock, { actor, action: 'space.member-changed', subject: actor.tenantSlug, data: payload })
}

async function keepAnOwner(tx: Tx, one: OneMember, { name }: SpaceRecord): Promise<void> {
  if ((await otherOwners(tx, one)) === 0)
    throw problem('CONFLICT', `${name} would be left without an owner: make somebody else its owner first, or delete it`)
}

/** Puts a user out of a space; with the own id: leaves it. Throws NOT_FOUND (space, member), FORBIDDEN, CONFLICT (its last owner). */
export const removeSpaceMember = ({ db, clock }: Deps, actor: PlatformPrincipal, { spaceId, userId }: OneMember): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const { space, rights } = await openSpace(tx, actor, { spaceId })
    const isOwn = userId === actor.userId
    if (!isOwn && !rights.manage) throw ownersOnly(space)
    const role = await roleIn(tx, { spaceId, userId })
    if (role === null) throw problem('NOT_FOUND', `${userId} is no member of ${space.name}`)
    if (role === 'owner') await keepAnOwner(tx, { spaceId, userId }, space)
    await changeSpaceRow(tx, { tenantId, spaceId }, isoNow(clock))
    await followInChat(tx, clock, space)
    await endMembership(tx, clock, { space, userId, actorId: actor.userId, reason: isOwn ? 'left' : 'removed' })
    await publishRevocation(tx, clock, { kind: 'space', subject: spaceId })
    await recordAudit(tx, clock, { actor, action: 'space.member-removed', subject: tenantSlug, data: { spaceId, userId } })
  })
