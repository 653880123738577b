import type { Migration } from './migration.ts'

/** The unfinished rollouts that a rollout waits for before its first box. Null: none. */
export const queuedBehind: Migration = {
  name: '0038-queued-behind',
  async up(db) {
    await db.schema.alterTable('rollouts').addColumn('queued_behind', 'text').execute()
  },
}
