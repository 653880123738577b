// Jobs: the one queue for work that is due later, run by any replica. Each job waits in a queue, and one process at a time works on a queue, under
// a lease. This feature decides when a job runs, is retried or abandoned, and shows operators what is not done.
// It never knows what a job does: the handler of its topic decides that, and whether running it twice is safe.
// Other features enqueue with `enqueueJob` of the database, in the transaction of their change.
import { releaseOwnLease } from '../db/index.ts'
import { feature, repeat } from '../feature/index.ts'
import { jobsRoutes } from './jobs.routes.ts'
import { jobsMetrics } from './jobs-metrics.ts'
import { runJobs } from './run-jobs.ts'
import { watchJobs } from './watch-jobs.ts'
import type { RunJobsDeps } from './work-queue.ts'

export { jobsMetrics } from './jobs-metrics.ts'
export { discardJobsOf } from './queues.repo.ts'
export { chatRetryListener } from './retry-listener.ts'
export { drainJobs, runJobs } from './run-jobs.ts'
export { watchJobs } from './watch-jobs.ts'

export const jobsFeature = feature<RunJobsDeps & Readonly<{ owner: string }>>({
  name: 'jobs',
  routes: jobsRoutes,
  loops: (deps) => [
    (signal) => runJobs(deps, signal),
    repeat(deps, {
      everyMs: 60_000,
      name: 'watching jobs',
      run: () => watchJobs(deps),
      atEnd: () => releaseOwnLease(deps, { name: 'jobs.watch', owner: deps.owner }),
    }),
  ],
  metrics: ({ db, clock }, registry) => jobsMetrics({ db, clock, registry }),
})
