import { tasksContract as contract } from '../../core/tasks/index.ts'
import { type Served, serve } from '../http/index.ts'
import { createTask } from './create-task.ts'
import type { TasksDeps } from './deps.ts'
import { listTasks } from './list-tasks.ts'
import { assignTask, cancelTask, changeTask, completeTask, escalateTask, startTask } from './move-task.ts'
import { readTask, taskView } from './read-task.ts'

export const tasksRoutes = (deps: TasksDeps): Served[] => [
  serve(contract.listTasks, ({ actor, query }) => listTasks(deps, actor, query)),
  serve(contract.createTask, ({ actor, body }) => createTask(deps, actor, body)),
  serve(contract.showTask, async ({ actor, params }) => taskView(await readTask(deps, deps.db, actor, params))),
  serve(contract.changeTask, ({ actor, params, body }) => changeTask(deps, actor, { ...params, ...body })),
  serve(contract.startTask, ({ actor, params }) => startTask(deps, actor, params)),
  serve(contract.assignTask, ({ actor, params, body }) => assignTask(deps, actor, { ...params, ...body })),
  serve(contract.completeTask, ({ actor, params }) => completeTask(deps, actor, params)),
  serve(contract.cancelTask, ({ actor, params }) => cancelTask(deps, actor, params)),
  serve(contract.escalateTask, ({ actor, params, body }) => escalateTask(deps, actor, { ...params, ...body })),
]
