// Jobs that run by themselves: when each is due, whose a run is, what became of it. All times are UTC.
// A run belongs to one replica; missed, skipped and lost runs are in the history. The feature that declares a cron decides what it does.
import './crons.tables.ts'
import { feature } from '../feature/index.ts'
import { type CronsDeps, cronsRoutes } from './crons.routes.ts'
import { runScheduler } from './scheduler.ts'

export { type CronsDeps, cronsRoutes } from './crons.routes.ts'
export { cronFailed, cronFailedKey } from './failed-alert.ts'
export { beginAllDue, runScheduler } from './scheduler.ts'
export { trackRuns } from './track-runs.ts'

export const cronsFeature = feature<CronsDeps>({
  name: 'crons',
  routes: cronsRoutes,
  loops: (deps) => [(signal) => runScheduler(deps, deps.jobs, signal)],
})
