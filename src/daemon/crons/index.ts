// Jobs that run by themselves: when each is due, whose a run is, what became of it. All times are UTC.
// A run belongs to one replica; what was missed, skipped or lost is told in the history. What a job does is its room's own.
import './crons.tables.ts'

export { type CronsDeps, cronsRoutes } from './crons.routes.ts'
export { type DefinedJob, defineJob } from './job.ts'
export { passwordCleanup } from './password-cleanup.ts'
export { beginAllDue, runScheduler } from './scheduler.ts'
export { trackRuns } from './track-runs.ts'
