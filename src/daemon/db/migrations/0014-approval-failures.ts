import type { Migration } from './migration.ts'

/** Wrong approval tokens, counted by account: an emergency is not to be had by trying. */
export const approvalFailures: Migration = {
  name: '0014-approval-failures',
  async up(db) {
    await db.schema
      .createTable('approval_failures')
      .addColumn('account_id', 'text', (c) => c.primaryKey())
      .addColumn('failures', 'integer', (c) => c.notNull())
      .addColumn('forget_at', 'text', (c) => c.notNull())
      .addColumn('locked_until', 'text')
      .execute()
  },
}
