import { spacesContract as contract } from '../../core/spaces/index.ts'
import { type Served, serve } from '../http/index.ts'
import { spaceActivity } from './activity.ts'
import { putSpaceMember, removeSpaceMember } from './change-members.ts'
import { changeSpace, deleteSpace } from './change-space.ts'
import { createSpace } from './create-space.ts'
import type { PutDeps, SpacesDeps } from './deps.ts'
import { listSpaceMembers, listSpaces, showSpace } from './show-spaces.ts'

/** Verbs without an answer, for endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const spacesRoutes = (deps: SpacesDeps & PutDeps): Served[] => [
  serve(contract.createSpace, ({ actor, body }) => createSpace(deps, actor, body)),
  serve(contract.listSpaces, ({ actor, query }) => listSpaces(deps, actor, query)),
  serve(contract.showSpace, ({ actor, params }) => showSpace(deps, actor, params)),
  serve(contract.changeSpace, ({ actor, params, body }) => changeSpace(deps, actor, { ...params, ...body })),
  serve(contract.deleteSpace, ({ actor, params }) => nothing(deleteSpace(deps, actor, params))),
  serve(contract.listSpaceMembers, ({ actor, params, query }) => listSpaceMembers(deps, actor, { ...params, ...query })),
  serve(contract.putSpaceMember, ({ actor, params, body }) => putSpaceMember(deps, actor, { ...params, ...body })),
  serve(contract.removeSpaceMember, ({ actor, params }) => nothing(removeSpaceMember(deps, actor, params))),
  serve(contract.spaceActivity, ({ actor, params, query }) => spaceActivity(deps, actor, { ...params, ...query })),
]
