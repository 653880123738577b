// Work beside requests: the job queue, crons that enqueue jobs at their times, and the loops of all features. Any replica does it.
// It decides when a job runs, is retried or abandoned, records what became of crons, and shows operators what is not done.
// It never knows what a job, cron or loop does: the feature that declares it decides that, and whether doing it twice is safe.
// Other features enqueue with `enqueueJob` of the database, in the transaction of their change.
import './crons.tables.ts'
import type { Clock, Random } from '../../core/kit/index.ts'
import type { Logger, Tracing } from '../../node/index.ts'
import type { Db, JobHandler } from '../db/index.ts'
import { type Cron, feature } from '../feature/index.ts'
import { cronsRoutes } from './crons.routes.ts'
import { enqueueDueCrons } from './due-crons.ts'
import { jobsRoutes } from './jobs.routes.ts'
import { jobsMetrics } from './jobs-metrics.ts'
import { cronHandler, cronTopic } from './run-cron.ts'
import { jobsLoop } from './run-jobs.ts'
import { jobsWatch } from './watch-jobs.ts'

export { cronsRoutes } from './crons.routes.ts'
export { enqueueDueCrons } from './due-crons.ts'
export { jobsMetrics } from './jobs-metrics.ts'
export { discardJobsOf } from './queues.repo.ts'
export { chatRetryListener } from './retry-listener.ts'
export { cronFailed, cronFailedKey, cronHandler, cronTopic } from './run-cron.ts'
export { drainJobs, jobsLoop } from './run-jobs.ts'
export { type LoopDeps, runLoop, runLoops, runRound } from './run-loops.ts'
export { jobsWatch } from './watch-jobs.ts'

/** `declared`: crons and job handlers of all features; complete before the first request. */
type WorkDeps = Readonly<{
  db: Db
  clock: Clock
  random: Random
  log: Logger
  tracing?: Tracing | undefined
  declared: () => Readonly<{ crons: readonly Cron[]; jobs: Readonly<Record<string, JobHandler>> }>
}>

const withCrons = (deps: WorkDeps) => ({ ...deps, crons: () => deps.declared().crons })

export const workFeature = feature<WorkDeps>({
  name: 'work',
  routes: (deps) => [...jobsRoutes(deps), ...cronsRoutes(withCrons(deps))],
  jobs: (deps) => ({ [cronTopic]: cronHandler(withCrons(deps)) }),
  loops: (deps) => [
    jobsLoop({ ...deps, handlers: deps.declared().jobs }),
    jobsWatch(deps),
    { name: 'enqueue due crons', everyMs: 1000, run: enqueueDueCrons(deps, withCrons(deps).crons) },
  ],
  metrics: ({ db, clock }, registry) => jobsMetrics({ db, clock, registry }),
})
