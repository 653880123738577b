// Tasks of tenants: making them, doing them, who sees them. Each change and its event are one transaction; a task is locked while it changes.
// Every query names the tenant. What boards and automation do comes in by `ensureTasks` and `moveTask`; this room knows neither.
import './tasks.tables.ts'
import { feature } from '../feature/index.ts'
import type { TasksDeps } from './deps.ts'
import { forgetTasks } from './forget-tasks.ts'
import { tasksRoutes } from './tasks.routes.ts'

export { ensureTasks } from './create-task.ts'
export { forgetTasks } from './forget-tasks.ts'
export { moveTask } from './move-task.ts'
export type { SpacesOf } from './spaces-of.ts'
export { unfinishedTasksOf } from './tasks.repo.ts'
export { tasksRoutes } from './tasks.routes.ts'

export const tasksFeature = feature<TasksDeps>({
  name: 'tasks',
  routes: tasksRoutes,
  cleanup: (deps) => [(signal) => forgetTasks(deps, signal)],
})
