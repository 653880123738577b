// Jobs: the one queue for work that is due later, run by any replica. Each job waits in a queue, and one process at a time works on a queue, under
// a lease. This feature decides when a job runs, is retried or abandoned, and shows operators what is not done.
// It never knows what a job does: the handler of its topic decides that, and whether running it twice is safe.
// Other features enqueue with `enqueueJob` of the database, in the transaction of their change.
export { jobsRoutes } from './jobs.routes.ts'
export { jobsMetrics } from './jobs-metrics.ts'
export { drainJobs, runJobs } from './run-jobs.ts'
export { watchJobs } from './watch-jobs.ts'
