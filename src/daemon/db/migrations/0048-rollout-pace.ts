import type { Migration } from './migration.ts'

/** The number of boxes at once of a rollout, and the watching time after each of its phases. Null: the setting of the daemon, and none. */
export const rolloutPace: Migration = {
  name: '0048-rollout-pace',
  async up(db) {
    await db.schema.alterTable('rollouts').addColumn('parallel', 'integer').execute()
    await db.schema.alterTable('rollouts').addColumn('bake_ms', 'integer').execute()
    await db.schema.alterTable('rollouts').addColumn('bake_until', 'text').execute()
  },
}
