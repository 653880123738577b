// Runs of flow boards: start, advance, cancel and retry them, fire their timers, send their messages, store their reports.
// A step is stored in one transaction with its history, tasks, timers, events and jobs, so that it happens once or not at all.
// The steps are decided in core/boards. A run keeps the board version it began with, unless a retry continues it with another one.
import './runs.tables.ts'
import { runsContract as contract, operatorRunsContract } from '../../core/runs/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { advanceRun } from './advance-run.ts'
import { deleteOldRuns } from './delete-old-runs.ts'
import type { RunsDeps } from './deps.ts'
import { timerLoop } from './fire-timers.ts'
import { cancelRun, retryRun } from './manage-run.ts'
import { changeTenantRuns, listTenantRuns, tenantRunHistory } from './operate-runs.ts'
import { readTenantRun } from './read-run.ts'
import { approverJobs } from './recheck-approvers.ts'
import { reportJobs } from './reports.ts'
import { messageJobs } from './send-messages.ts'
import { listCheckpoints, listRuns, showHistory, showReport, showRun } from './show-runs.ts'
import { showTenantRun } from './show-tenant-run.ts'
import { startRun } from './start-run.ts'
import { listStartableBoards } from './startable-boards.ts'

export { eraseUserRuns } from './erase-user-runs.ts'
export { fireTimers } from './fire-timers.ts'
export { enqueueApproverCheck, enqueueStalledCheck } from './recheck-approvers.ts'
export { unfinishedRun } from './runs.repo.ts'
export { sendRunMessage } from './send-messages.ts'
export { startBoardRun } from './start-run.ts'
export { runTasks } from './task-of-run.ts'

export const runsFeature = feature<RunsDeps>({
  name: 'runs',
  routes: (deps) => [
    ...serveContract(contract, {
      startRun: ({ actor, params, body }) => startRun(deps, actor, { ...params, ...body }),
      listStartableBoards: ({ actor, query }) => listStartableBoards(deps, actor, query),
      listRuns: ({ actor, params, query }) => listRuns(deps, actor, { ...params, ...query }),
      showRun: ({ actor, params }) => showRun(deps, actor, params),
      advanceRun: ({ actor, params, body, header }) =>
        advanceRun(deps, actor, { ...params, ...body, idempotencyKey: header('idempotency-key') }),
      cancelRun: ({ actor, params }) => cancelRun(deps, actor, params),
      retryRun: ({ actor, params, body }) => retryRun(deps, actor, { ...params, ...body }),
      runHistory: ({ actor, params, query }) => showHistory(deps, actor, { ...params, ...query }),
      listCheckpoints: ({ actor, query }) => listCheckpoints(deps, actor, query),
      showReport: ({ actor, params }) => showReport(deps, actor, params),
    }),
    ...serveContract(operatorRunsContract, {
      listTenantRuns: ({ params, query }) => listTenantRuns(deps, { ...params, ...query }),
      cancelTenantRuns: ({ actor, params, body }) => changeTenantRuns(deps, actor, { ...params, ...body, type: 'cancel' }),
      retryTenantRuns: ({ actor, params, body }) => changeTenantRuns(deps, actor, { ...params, ...body, type: 'retry' }),
      readTenantRun: ({ actor, params }) => readTenantRun(deps, actor, params),
      showTenantRun: ({ params }) => showTenantRun(deps, params),
      tenantRunHistory: ({ params, query }) => tenantRunHistory(deps, { ...params, ...query }),
    }),
  ],
  jobs: (deps) => ({ ...messageJobs(deps), ...reportJobs(deps), ...approverJobs(deps) }),
  loops: (deps) => [timerLoop(deps)],
  cleanup: (deps) => [(signal) => deleteOldRuns(deps, signal)],
})
