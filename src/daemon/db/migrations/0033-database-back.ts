import type { Migration } from './migration.ts'

/** How an update brought the former database back, and how long that took. */
export const databaseBack: Migration = {
  name: '0033-database-back',
  async up(db) {
    await db.schema.alterTable('rollout_attempts').addColumn('restored', 'text').execute()
  },
}
