import type { RunTasks } from '../../tasks/index.ts'
import { advanceLocked, runFailed } from './advance-run.ts'
import type { StepDeps } from './deps.ts'
import { openElements } from './elements.repo.ts'
import { lockRun } from './runs.repo.ts'

/** Steps the run of a task in the transaction that completes the task. */
export const runTasks = (deps: StepDeps): RunTasks => ({
  lock: async (tx, { tenantId, runId }) => {
    await lockRun(tx, { tenantId, id: runId })
  },
  completed: async (tx, { tenantId, runId, id }, by) => {
    const element = (await openElements(tx, { tenantId, runId })).find(({ taskId }) => taskId === id)
    const run = element && (await lockRun(tx, { tenantId, id: runId }))
    if (run?.state.failure) {
      // Without the reason, which may quote variables: the assignee may have no part in the run.
      throw runFailed(run, { ...run.state.failure, message: run.state.failure.code })
    }
    if (!run) return
    const { elementId, tokenId } = element
    await advanceLocked(deps, tx, { run, input: { type: 'complete', elementId, tokenId, by } })
  },
})
