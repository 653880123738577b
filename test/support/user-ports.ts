import { endUserSessions, unlockLogin } from '../../src/daemon/sessions/index.ts'
import { enqueueTenantSync } from '../../src/daemon/spaces/index.ts'
import { enqueueTaskReturn } from '../../src/daemon/tasks/index.ts'
import type { UsersPorts } from '../../src/daemon/users/index.ts'

/** The ports that the app passes to the feature `users`. */
export const userPorts: UsersPorts = {
  endUserSessions,
  unlockLogin: unlockLogin,
  resyncSpaces: enqueueTenantSync,
  returnTasks: enqueueTaskReturn,
}
