// Jobs: work that runs after a change, or at a later time, outside the request that asked for it.
// It decides worker pools, retry delays and what an operator may see of a job. It reads no database and runs nothing.
export { jobsContract } from './contract.ts'
export { type Job, type JobCount, type JobState, subjectOf } from './job.ts'
export { chatQueue, chatQueuesOf, type JobPool, retryDelayMs, unreachableDelayMs, type WorkerPool, workersPerPool } from './pools.ts'
