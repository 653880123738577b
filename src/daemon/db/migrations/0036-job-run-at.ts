import type { Migration } from './migration.ts'

/** Jobs may be enqueued for a later time. Null: due at once. */
export const jobRunAt: Migration = {
  name: '0036-job-run-at',
  async up(db) {
    await db.schema.alterTable('outbox').addColumn('run_at', 'text').execute()
  },
}
