import type { CronRunStatus } from '../../core/crons/index.ts'

/** How far the due times of a cron were handled, by whichever replica. */
type CronJobTable = { job_key: string; served_until: string }

export type CronRunTable = {
  id: string
  job_key: string
  /** The due time it stands for, or what else started it; unique per cron. */
  occurrence: string
  /** `running`: its job is in the queue or runs; one run per cron. */
  status: CronRunStatus
  started_at: string
  finished_at: string | null
  duration_ms: number | null
  message: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    cron_jobs: CronJobTable
    cron_runs: CronRunTable
  }
}
