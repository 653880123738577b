// Spaces of tenants: create and change them, manage members, record activity, and sync their rooms to the chat server.
// The database decides. Changes commit here and jobs sync them; only leaving a room in the chat ends a membership here.
// Never reads messages.
import './spaces.tables.ts'
import { feature } from '../feature/index.ts'
import { deleteOldSpaces } from './activity.ts'
import type { PutDeps, SpacesDeps } from './deps.ts'
import { spacesRoutes } from './spaces.routes.ts'
import { spaceSyncJobs, spacesJobs } from './sync-jobs.ts'

export { deleteOldSpaces, recordInSpace } from './activity.ts'
export { type Chat, createRoomWith, findAlias, joinRoom, readRoom, resolveRoom } from './chat-rooms.ts'
export { leaveAllSpaces } from './leave-all-spaces.ts'
export { createToolSpace, listAllSpaces, putToolMember } from './platform-changes.ts'
export { authorizeSpace } from './show-spaces.ts'
export {
  findSpace,
  findsSpace,
  foundSpaces,
  isPrivateSpace,
  membersOf,
  presentSpaces,
  privateOf,
  roomsOfMember,
  roomsOfTenant,
  spaceNames,
  spaceOfRoom,
  spaceRoomsAfter,
  spacesOf,
  withSpaceNames,
} from './spaces.repo.ts'
export { spacesRoutes } from './spaces.routes.ts'
export { enqueueTenantSync, spaceResyncListener, spaceSyncJobs, spacesJobs } from './sync-jobs.ts'

export const spacesFeature = feature<SpacesDeps & PutDeps & Pick<Parameters<typeof deleteOldSpaces>[0], 'isReferenced'>>({
  name: 'spaces',
  routes: spacesRoutes,
  jobs: spaceSyncJobs,
  crons: spacesJobs,
  cleanup: (deps) => [() => deleteOldSpaces(deps)],
})
