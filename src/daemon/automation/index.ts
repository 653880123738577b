// Callbacks for automation tools (spec 4.4): tasks, room, messages and report of an event, and the spaces, users and rooms of a tenant.
// Decides which key may act for which tenant; each call acts in one tenant, and an id of another one does not exist for it.
// Built on the verbs of tasks, spaces, users, files and homeserver. Never deletes, and reads no message.
import './automation.tables.ts'
import { feature } from '../feature/index.ts'
import { automationRoutes } from './automation.routes.ts'
import { automationSealedColumns } from './credentials.ts'
import type { AutomationDeps } from './deps.ts'
import { eventRoomJobs } from './event-rooms.ts'
import { deleteOldCalls } from './once.ts'
import { deleteOldRooms } from './rooms.repo.ts'

export { authenticateAutomation } from './authenticate.ts'

export const automationFeature = feature<AutomationDeps>({
  name: 'automation',
  routes: automationRoutes,
  jobs: eventRoomJobs,
  cleanup: (deps) => [() => deleteOldCalls(deps), () => deleteOldRooms(deps)],
  sealed: automationSealedColumns,
})
