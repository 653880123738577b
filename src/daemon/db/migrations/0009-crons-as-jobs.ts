import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** A cron's run is a job of the queue, whose lease replaces that of the run. A cron has one run at a time. */
export const cronsAsJobs: Migration = {
  name: '0009-crons-as-jobs',
  async up(db) {
    await sql`update cron_runs set status = 'failed', finished_at = started_at, message = 'the daemon was upgraded'
      where status = 'running'`.execute(db)
    await sql`drop index cron_runs_held`.execute(db)
    await sql`alter table cron_runs drop column holder`.execute(db)
    await sql`alter table cron_runs drop column lease_until`.execute(db)
    await sql`create unique index cron_runs_running on cron_runs (job_key) where status = 'running'`.execute(db)
  },
}
