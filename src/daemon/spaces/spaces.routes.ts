import { spacesContract as contract } from '../../core/spaces/index.ts'
import { serveContract } from '../http/index.ts'
import { spaceActivity } from './activity.ts'
import { putSpaceMember, removeSpaceMember } from './change-members.ts'
import { changeSpace, createSpace, deleteSpace } from './change-space.ts'
import type { PutDeps, SpacesDeps } from './deps.ts'
import { listSpaceMembers, listSpaces, showSpace } from './show-spaces.ts'

/** For endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const spacesRoutes = (deps: SpacesDeps & PutDeps) =>
  serveContract(contract, {
    createSpace: ({ actor, body }) => createSpace(deps, actor, body),
    listSpaces: ({ actor, query }) => listSpaces(deps, actor, query),
    showSpace: ({ actor, params }) => showSpace(deps, actor, params),
    changeSpace: ({ actor, params, body }) => changeSpace(deps, actor, { ...params, ...body }),
    deleteSpace: ({ actor, params }) => nothing(deleteSpace(deps, actor, params)),
    listSpaceMembers: ({ actor, params, query }) => listSpaceMembers(deps, actor, { ...params, ...query }),
    putSpaceMember: ({ actor, params, body }) => putSpaceMember(deps, actor, { ...params, ...body }),
    removeSpaceMember: ({ actor, params }) => nothing(removeSpaceMember(deps, actor, params)),
    spaceActivity: ({ actor, params, query }) => spaceActivity(deps, actor, { ...params, ...query }),
  })
