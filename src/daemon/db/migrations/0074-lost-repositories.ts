import type { Migration } from './migration.ts'

/** restic's id of each repository, and since when and where it is gone: on a host, or in the bucket of all. */
export const lostRepositories: Migration = {
  name: '0074-lost-repositories',
  async up(db) {
    await db.schema.alterTable('snapshot_repositories').addColumn('repository_id', 'text').execute()
    await db.schema.alterTable('snapshot_repositories').addColumn('lost_at', 'text').execute()
    await db.schema.alterTable('snapshot_repositories').addColumn('lost_place', 'text').execute()
  },
}
