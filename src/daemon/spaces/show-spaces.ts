import { pageOf } from '../../core/contract/index.ts'
import { type PlatformPrincipal, problem } from '../../core/kit/index.ts'
import { type Space, type SpaceRights, type SpaceRole, spaceRights } from '../../core/spaces/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { membersAfter, roleIn } from './members.repo.ts'
import { findSpace, type SpaceRecord, spacesAfter } from './spaces.repo.ts'

type Caller = Pick<PlatformPrincipal, 'userId' | 'tenantId' | 'capabilities'>
type AuthorizedSpace = Readonly<{ space: SpaceRecord; role: SpaceRole | null; rights: SpaceRights }>

/**
 * Finds a space of the caller's tenant and the caller's rights in it. Throws NOT_FOUND for missing spaces, spaces of other tenants and hidden
 * spaces; FORBIDDEN if the caller finds it but lacks the right.
 */
export async function authorizeSpace(
  db: DbOrTx,
  { userId, tenantId, capabilities }: Caller,
  { spaceId, right = 'find' }: Readonly<{ spaceId: string; right?: keyof SpaceRights }>,
): Promise<AuthorizedSpace> {
  const space = await findSpace(db, { tenantId, spaceId })
  const role = space ? await roleIn(db, { spaceId, userId }) : null
  const rights = space && spaceRights({ visibility: space.visibility, role }, { capabilities })
  if (!space || !rights?.find || (right !== 'manage' && !rights[right])) throw noSuchSpace(spaceId)
  if (!rights[right]) throw problem('FORBIDDEN', `${space.name} is managed by its owners. fix: ask one of them`)
  return { space, role, rights }
}

const noSuchSpace = (spaceId: string) => problem('NOT_FOUND', `Space ${spaceId} does not exist, or you may not see it`)

type Deps = Readonly<{ db: Db }>

/** The space in API responses to one user. */
export const spaceView = (space: SpaceRecord, role: SpaceRole | null): Space => ({
  id: space.id,
  name: space.name,
  type: space.type,
  visibility: space.visibility,
  role,
  chat: {
    status: space.chatRevision === space.revision ? 'ready' : 'pending',
    spaceRoomId: space.spaceRoomId,
    roomId: space.roomId,
  },
  createdAt: space.createdAt,
  updatedAt: space.updatedAt,
})

type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** A page of the spaces that the caller can find. */
export async function listSpaces({ db }: Deps, actor: PlatformPrincipal, { cursor, limit }: Page) {
  const { tenantId, userId } = actor
  const all = spaceRights({ visibility: 'PRIVATE', role: null }, actor).find
  const found = await spacesAfter(db, { tenantId, userId, all, after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ space }) => space.id)
  return { spaces: page.map(({ space, role }) => spaceView(space, role)), nextCursor }
}

export async function showSpace({ db }: Deps, actor: PlatformPrincipal, { spaceId }: Readonly<{ spaceId: string }>): Promise<Space> {
  const { space, role } = await authorizeSpace(db, actor, { spaceId })
  return spaceView(space, role)
}

/** A page of members by id. Throws NOT_FOUND to callers who may not see them. */
export async function listSpaceMembers({ db }: Deps, actor: PlatformPrincipal, { spaceId, cursor, limit }: Page & { spaceId: string }) {
  await authorizeSpace(db, actor, { spaceId, right: 'seeMembers' })
  const found = await membersAfter(db, { spaceId, after: cursor, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ userId }) => userId)
  return { members: page, nextCursor }
}
