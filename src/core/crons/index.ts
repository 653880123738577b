// Scheduled jobs (crons): the contract.
// The feature that declares a cron decides what it does; crons only record when it ran and how it ended.
export { CronJob, CronRun, CronRunStatus, cronsContract } from './contract.ts'
