import { tasksContract as contract } from '../../core/tasks/index.ts'
import { type Served, serve } from '../http/index.ts'
import { createTask } from './create-task.ts'
import { listTasks } from './list-tasks.ts'
import { assignTask, cancelTask, changeTask, completeTask, escalateTask, startTask } from './move-task.ts'
import type { TasksNeeds } from './needs.ts'
import { readTask, taskView } from './read-task.ts'

export const tasksRoutes = (needs: TasksNeeds): Served[] => [
  serve(contract.listTasks, ({ actor, query }) => listTasks(needs, actor, query)),
  serve(contract.createTask, ({ actor, body }) => createTask(needs, actor, body)),
  serve(contract.showTask, async ({ actor, params }) => taskView(await readTask(needs, needs.db, actor, params))),
  serve(contract.changeTask, ({ actor, params, body }) => changeTask(needs, actor, { ...params, ...body })),
  serve(contract.startTask, ({ actor, params }) => startTask(needs, actor, params)),
  serve(contract.assignTask, ({ actor, params, body }) => assignTask(needs, actor, { ...params, ...body })),
  serve(contract.completeTask, ({ actor, params }) => completeTask(needs, actor, params)),
  serve(contract.cancelTask, ({ actor, params }) => cancelTask(needs, actor, params)),
  serve(contract.escalateTask, ({ actor, params, body }) => escalateTask(needs, actor, { ...params, ...body })),
]
