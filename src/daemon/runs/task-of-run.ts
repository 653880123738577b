import type { PlatformPrincipal } from '../../core/kit/index.ts'
import { mayMove } from '../../core/tasks/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { findTask, type RunTasks } from '../tasks/index.ts'
import { advanceLocked } from './advance-run.ts'
import type { StepDeps } from './deps.ts'
import { openElements, type RunElement } from './elements.repo.ts'
import { lockRun } from './runs.repo.ts'

/** Steps the run of a task in the transaction that completes the task. */
export const runTasks = (deps: StepDeps): RunTasks => ({
  lock: async (tx, { tenantId, runId }) => {
    await lockRun(tx, { tenantId, id: runId })
  },
  completed: async (tx, { tenantId, runId, id }, by) => {
    const element = (await openElements(tx, { tenantId, runId })).find(({ taskId }) => taskId === id)
    const run = element && (await lockRun(tx, { tenantId, id: runId }))
    if (run) await advanceLocked(deps, tx, { run, input: { type: 'complete', elementId: element.elementId, by } })
  },
})

/** The rule of tasks: the assignee, or users with `manageBoards`, may complete it too. */
export async function mayCompleteTask(db: DbOrTx, actor: PlatformPrincipal, { tenantId, taskId }: RunElement): Promise<boolean> {
  const task = taskId === null ? undefined : await findTask(db, { tenantId, id: taskId })
  return task !== undefined && mayMove(task, actor, { type: 'complete' })
}
