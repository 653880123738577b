import type { Migration } from './migration.ts'

/** Jobs that run by themselves: how far each has been served, and every run of it. */
export const crons: Migration = {
  name: '0007-crons',
  async up(db) {
    await db.schema
      .createTable('cron_jobs')
      .addColumn('job_key', 'text', (c) => c.primaryKey())
      .addColumn('served_until', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('cron_runs')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('job_key', 'text', (c) => c.notNull().references('cron_jobs.job_key'))
      .addColumn('occurrence', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('started_at', 'text', (c) => c.notNull())
      .addColumn('finished_at', 'text')
      .addColumn('duration_ms', 'bigint')
      .addColumn('message', 'text')
      .addColumn('holder', 'text')
      .addColumn('lease_until', 'text')
      .addUniqueConstraint('cron_runs_occurrence', ['job_key', 'occurrence'])
      .execute()
    await db.schema.createIndex('cron_runs_history').on('cron_runs').columns(['job_key', 'started_at']).execute()
  },
}
