import { tasksContract as contract } from '../../core/tasks/index.ts'
import { serveContract } from '../http/index.ts'
import { createTask } from './create-task.ts'
import type { TasksDeps } from './deps.ts'
import { listTasks } from './list-tasks.ts'
import { assignTask, cancelTask, changeTask, completeTask, escalateTask, startTask } from './move-task.ts'
import { readTask, taskView } from './read-task.ts'

export const tasksRoutes = (deps: TasksDeps) =>
  serveContract(contract, {
    listTasks: ({ actor, query }) => listTasks(deps, actor, query),
    createTask: ({ actor, body }) => createTask(deps, actor, body),
    showTask: async ({ actor, params }) => taskView(await readTask(deps, deps.db, actor, params)),
    changeTask: ({ actor, params, body }) => changeTask(deps, actor, { ...params, ...body }),
    startTask: ({ actor, params }) => startTask(deps, actor, params),
    assignTask: ({ actor, params, body }) => assignTask(deps, actor, { ...params, ...body }),
    completeTask: ({ actor, params }) => completeTask(deps, actor, params),
    cancelTask: ({ actor, params }) => cancelTask(deps, actor, params),
    escalateTask: ({ actor, params, body }) => escalateTask(deps, actor, { ...params, ...body }),
  })
