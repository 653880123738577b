// Jobs: the one queue for work that is due later, run by any replica. Each job waits in a queue, and one process at a time works on a queue, under
// a lease. This feature decides when a job runs, is retried or abandoned, and shows operators what is not done.
// It never knows what a job does: the handler of its topic decides that, and whether running it twice is safe.
// Other features enqueue with `enqueueJob` of the database, in the transaction of their change.
import { feature } from '../feature/index.ts'
import { jobsRoutes } from './jobs.routes.ts'
import { jobsMetrics } from './jobs-metrics.ts'
import { jobsLoop } from './run-jobs.ts'
import { jobsWatch } from './watch-jobs.ts'
import type { RunJobsDeps } from './work-queue.ts'

export { jobsMetrics } from './jobs-metrics.ts'
export { discardJobsOf } from './queues.repo.ts'
export { chatRetryListener } from './retry-listener.ts'
export { drainJobs, jobsLoop } from './run-jobs.ts'
export { jobsWatch } from './watch-jobs.ts'

export const jobsFeature = feature<RunJobsDeps>({
  name: 'jobs',
  routes: jobsRoutes,
  loops: (deps) => [jobsLoop(deps), jobsWatch(deps)],
  metrics: ({ db, clock }, registry) => jobsMetrics({ db, clock, registry }),
})
