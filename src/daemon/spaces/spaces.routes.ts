import { spacesContract as contract } from '../../core/spaces/index.ts'
import { type Served, serve } from '../http/index.ts'
import { spaceActivity } from './activity.ts'
import { putSpaceMember, removeSpaceMember } from './change-members.ts'
import { changeSpace, deleteSpace } from './change-space.ts'
import { createSpace } from './create-space.ts'
import type { PutNeeds, SpacesNeeds } from './needs.ts'
import { listSpaceMembers, listSpaces, showSpace } from './show-spaces.ts'

/** Verbs without an answer, for endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

export const spacesRoutes = (needs: SpacesNeeds & PutNeeds): Served[] => [
  serve(contract.createSpace, ({ actor, body }) => createSpace(needs, actor, body)),
  serve(contract.listSpaces, ({ actor, query }) => listSpaces(needs, actor, query)),
  serve(contract.showSpace, ({ actor, params }) => showSpace(needs, actor, params)),
  serve(contract.changeSpace, ({ actor, params, body }) => changeSpace(needs, actor, { ...params, ...body })),
  serve(contract.deleteSpace, ({ actor, params }) => nothing(deleteSpace(needs, actor, params))),
  serve(contract.listSpaceMembers, ({ actor, params, query }) => listSpaceMembers(needs, actor, { ...params, ...query })),
  serve(contract.putSpaceMember, ({ actor, params, body }) => putSpaceMember(needs, actor, { ...params, ...body })),
  serve(contract.removeSpaceMember, ({ actor, params }) => nothing(removeSpaceMember(needs, actor, params))),
  serve(contract.spaceActivity, ({ actor, params, query }) => spaceActivity(needs, actor, { ...params, ...query })),
]
