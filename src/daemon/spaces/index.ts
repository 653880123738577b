// The spaces of tenants and who is in them. This database is the truth: verbs commit here, and the chat server follows through jobs.
// It reads nothing that is said in a room; the only thing the chat decides is that somebody has left.
import './spaces.tables.ts'
import { feature } from '../feature/index.ts'
import { forgetSpaces } from './activity.ts'
import type { PutDeps, SpacesDeps } from './deps.ts'
import { spacesWork } from './follow-in-chat.ts'
import { spacesJobs } from './reconcile-spaces.ts'
import { spacesRoutes } from './spaces.routes.ts'

export { forgetSpaces } from './activity.ts'
export { spacesListener } from './after-restore.ts'
export { followWholeTenant, spacesWork } from './follow-in-chat.ts'
export { openSpace } from './open-space.ts'
export { spacesJobs } from './reconcile-spaces.ts'
export { recordInSpace } from './record-in-space.ts'
export { membersOf, spacesOf } from './spaces.repo.ts'
export { spacesRoutes } from './spaces.routes.ts'

export const spacesFeature = feature<SpacesDeps & PutDeps & Pick<Parameters<typeof forgetSpaces>[0], 'stillNeeded'>>({
  name: 'spaces',
  routes: spacesRoutes,
  jobs: spacesWork,
  crons: spacesJobs,
  cleanup: (deps) => [() => forgetSpaces(deps)],
})
