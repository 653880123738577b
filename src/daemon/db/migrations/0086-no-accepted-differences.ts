import type { Migration } from './migration.ts'

/** Differences with the provider are not accepted any more. The audit log keeps who accepted which and why. */
export const noAcceptedDifferences: Migration = {
  name: '0086-no-accepted-differences',
  async up(db) {
    await db.schema.dropTable('billing_accepted').execute()
  },
}
