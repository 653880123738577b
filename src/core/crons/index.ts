// Jobs that run by themselves, as the wire tells of them.
// What a job does belongs to its room; this room only knows when it ran and how it ended.
export { CronJob, CronRun, CronRunStatus, cronsContract } from './contract.ts'
