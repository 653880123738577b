import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { type Space, type SpaceRole, spaceRights } from '../../core/spaces/index.ts'
import type { Db } from '../db/index.ts'
import { membersAfter } from './members.repo.ts'
import { openSpace } from './open-space.ts'
import { type SpaceRecord, spacesAfter } from './spaces.repo.ts'

type Deps = Readonly<{ db: Db }>

/** As answers show it to one user. */
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

/** A page of what the caller may find. */
export async function listSpaces({ db }: Deps, actor: PlatformPrincipal, { cursor, limit }: Page) {
  const { tenantId, userId } = actor
  const all = spaceRights({ visibility: 'PRIVATE', role: null }, actor).find
  const found = await spacesAfter(db, { tenantId, userId, all, after: cursor, limit: limit + 1 })
  const page = found.slice(0, limit)
  return {
    spaces: page.map(({ space, role }) => spaceView(space, role)),
    nextCursor: found.length > limit ? (page.at(-1)?.space.id ?? null) : null,
  }
}

export async function showSpace({ db }: Deps, actor: PlatformPrincipal, { spaceId }: Readonly<{ spaceId: string }>): Promise<Space> {
  const { space, role } = await openSpace(db, actor, { spaceId })
  return spaceView(space, role)
}

/** A page of members by id. Throws NOT_FOUND to whoever may not see them. */
export async function listSpaceMembers({ db }: Deps, actor: PlatformPrincipal, { spaceId, cursor, limit }: Page & { spaceId: string }) {
  await openSpace(db, actor, { spaceId, right: 'seeMembers' })
  const found = await membersAfter(db, { spaceId, after: cursor, limit: limit + 1 })
  const members = found.slice(0, limit)
  return { members, nextCursor: found.length > limit ? (members.at(-1)?.userId ?? null) : null }
}
