// Tasks of tenants: create, assign, complete and list them. A change and its event commit in one transaction.
// It decides who may read a task and who may change it (rules in core/tasks). A reader of a task receives its events.
// Boards and automation use `ensureTasks` and `moveTask`; this feature knows neither of them.
import './tasks.tables.ts'
import { tasksContract as contract } from '../../core/tasks/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { createTask } from './create-task.ts'
import { deleteOldTasks } from './delete-old-tasks.ts'
import type { TasksDeps } from './deps.ts'
import { assignTask, cancelTask, changeTask, completeTask, escalateTask, startTask } from './move-task.ts'
import { listTasks, readTask, taskView } from './read-tasks.ts'
import { taskJobs } from './return-tasks.ts'

export { ensureTasks } from './create-task.ts'
export { deleteOldTasks } from './delete-old-tasks.ts'
export type { RunTasks, SpacesOf } from './deps.ts'
export { countTasksOfEvent, tasksOfEvent } from './event-tasks.repo.ts'
export { escalateTasksOfRun, finishTasksOfRun, moveTask } from './move-task.ts'
export { taskView } from './read-tasks.ts'
export { enqueueTaskReturn, returnTasks } from './return-tasks.ts'
export { roleNamed } from './task-input.ts'
export { findTask, ownersOfTasks, replaceTitlesOfRun, type TaskOwner } from './tasks.repo.ts'
export { unfinishedTasksOf } from './user-tasks.repo.ts'

export const tasksFeature = feature<TasksDeps>({
  name: 'tasks',
  routes: (deps) =>
    serveContract(contract, {
      listTasks: ({ actor, query }) => listTasks(deps, actor, query),
      createTask: ({ actor, body }) => createTask(deps, actor, body),
      showTask: async ({ actor, params }) => taskView(await readTask(deps, actor, params)),
      changeTask: ({ actor, params, body }) => changeTask(deps, actor, { ...params, ...body }),
      startTask: ({ actor, params }) => startTask(deps, actor, params),
      assignTask: ({ actor, params, body }) => assignTask(deps, actor, { ...params, ...body }),
      completeTask: ({ actor, params }) => completeTask(deps, actor, params),
      cancelTask: ({ actor, params }) => cancelTask(deps, actor, params),
      escalateTask: ({ actor, params, body }) => escalateTask(deps, actor, { ...params, ...body }),
    }),
  jobs: taskJobs,
  cleanup: (deps) => [(signal) => deleteOldTasks(deps, signal)],
})
