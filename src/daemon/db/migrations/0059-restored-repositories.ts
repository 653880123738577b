import type { Migration } from './migration.ts'

/** Between these times the database did not know what commands reported, because it was restored from a backup. */
export const restoredRepositories: Migration = {
  name: '0059-restored-repositories',
  async up(db) {
    await db.schema.alterTable('snapshot_repositories').addColumn('unrecorded_from', 'text').execute()
    await db.schema.alterTable('snapshot_repositories').addColumn('unrecorded_until', 'text').execute()
  },
}
