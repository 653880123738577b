import { pageOf } from '../../core/contract/index.ts'
import { type AutomationActor, isoNow, problem } from '../../core/kit/index.ts'
import type { Space, SpaceId, SpaceMember, SpaceRole, SpaceType, SpaceVisibility } from '../../core/spaces/index.ts'
import { recordAudit } from '../audit/index.ts'
import { findUserById } from '../users/index.ts'
import { findersOf, recordInSpace } from './activity.ts'
import { putMember } from './change-members.ts'
import type { SpacesDeps } from './deps.ts'
import { spaceView } from './show-spaces.ts'
import { findSpace, insertSpace, lockSpace, type SpaceRecord, spacesAfter } from './spaces.repo.ts'
import { enqueueSpaceSync, syncSoon } from './sync-jobs.ts'

type Deps = Pick<SpacesDeps, 'db' | 'clock'>
type NewSpace = Readonly<{ id: SpaceId; name: string; type: SpaceType; visibility: SpaceVisibility }>

/** Maximum time that the response waits for the chat server. */
const waitMs = 5000

/** Creates a space without members for an automation tool. The same id again returns the space of the first call. Throws KEY_REUSED if it was deleted. */
export async function createToolSpace(
  deps: SpacesDeps,
  actor: AutomationActor,
  { id, name, type, visibility }: NewSpace,
): Promise<Omit<Space, 'role'>> {
  const { db, clock } = deps
  const { tenantId, tenantSlug } = actor
  const at = isoNow(clock)
  const made: SpaceRecord = {
    ...{ id, tenantId, name, type, visibility, revision: 1, chatRevision: 0, spaceRoomId: null, roomId: null },
    ...{ createdBy: 'automation', createdAt: at, updatedAt: at, deletedAt: null },
  }
  await db.transaction().execute(async (tx) => {
    if (await findSpace(tx, { tenantId, spaceId: id })) return
    if (!(await insertSpace(tx, made)))
      throw problem('KEY_REUSED', `The first call with this Idempotency-Key made the space ${id}, which was deleted. fix: send a new key`)
    await enqueueSpaceSync(tx, clock, made)
    await recordInSpace(tx, clock, {
      ...{ space: made, type: 'space.created', payload: { spaceId: id, name }, actorId: null, audience: findersOf(made) },
    })
    await recordAudit(tx, clock, { actor, action: 'space.created', subject: tenantSlug, data: { spaceId: id, name, type, visibility } })
  })
  await syncSoon(deps, id, waitMs)
  return toolView((await findSpace(db, { tenantId, spaceId: id })) ?? made)
}

/** A space as automation tools see it: they have no role in it. */
function toolView(space: SpaceRecord): Omit<Space, 'role'> {
  const { role: _, ...view } = spaceView(space, null)
  return view
}

type Put = Readonly<{ spaceId: string; userId: string; role: SpaceRole }>

/** Adds a user of the tenant to one of its spaces, or changes the role. Throws NOT_FOUND (space, user), CONFLICT (last owner). */
export const putToolMember = ({ db, clock }: Deps, actor: AutomationActor, { spaceId, userId, role }: Put): Promise<SpaceMember> =>
  db.transaction().execute(async (tx) => {
    const { tenantId, tenantSlug } = actor
    await lockSpace(tx, { tenantId, spaceId })
    const space = await findSpace(tx, { tenantId, spaceId })
    if (!space) throw problem('NOT_FOUND', `Space ${spaceId} does not exist in ${tenantSlug}`)
    const user = await findUserById(tx, userId)
    if (user?.tenantId !== tenantId || user.status === 'erased')
      throw problem('NOT_FOUND', `User ${userId} does not exist in ${tenantSlug}`)
    return putMember({ clock, tx }, { actor, userId: null, tenantId, tenantSlug }, { space, userId, role })
  })

type Page = Readonly<{ tenantId: string; cursor?: string | undefined; limit: number }>

/** A page of all spaces of a tenant, by id. */
export async function listAllSpaces({ db }: Pick<Deps, 'db'>, { tenantId, cursor, limit }: Page) {
  const found = await spacesAfter(db, { tenantId, userId: '', all: true, after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ space }) => space.id)
  return { spaces: page.map(({ space }) => toolView(space)), nextCursor }
}
