import type { Migration } from './migration.ts'

/** Why a report of usage cannot be sent, or was waived. */
export const reportReasons: Migration = {
  name: '0069-report-reasons',
  async up(db) {
    await db.schema.alterTable('billing_reports').addColumn('reason', 'text').execute()
  },
}
