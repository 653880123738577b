import type { CronRunStatus } from '../../core/crons/index.ts'

/** How far a job's occurrences were seen to, by whichever replica. */
type CronJobTable = { job_key: string; served_until: string }

export type CronRunTable = {
  id: string
  job_key: string
  /** The time it stands for, or what else made it run; unique per job. */
  occurrence: string
  status: CronRunStatus
  started_at: string
  finished_at: string | null
  duration_ms: number | null
  message: string | null
  holder: string | null
  /** Renewed while it runs; a run whose lease ended has lost its process. */
  lease_until: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    cron_jobs: CronJobTable
    cron_runs: CronRunTable
  }
}
