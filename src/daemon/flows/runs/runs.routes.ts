import { runsContract as contract, operatorRunsContract } from '../../../core/runs/index.ts'
import { serveContract } from '../../http/index.ts'
import { advanceRun } from './advance-run.ts'
import type { RunsDeps } from './deps.ts'
import { cancelRun, retryRun } from './manage-run.ts'
import { changeTenantRuns, listTenantRuns, tenantRunHistory } from './operate-runs.ts'
import { readTenantRun } from './read-run.ts'
import { listCheckpoints, listRuns, showHistory, showReport, showRun } from './show-runs.ts'
import { showTenantRun } from './show-tenant-run.ts'
import { startRun } from './start-run.ts'
import { listStartableBoards } from './startable-boards.ts'

export const runsRoutes = (deps: RunsDeps) => [
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
]
