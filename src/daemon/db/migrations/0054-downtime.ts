import type { Migration } from './migration.ts'

/** The fence mode of each box, and the parts of its downtime: the base of later predictions. */
export const downtime: Migration = {
  name: '0054-downtime',
  async up(db) {
    await db.schema.alterTable('rollout_actions').addColumn('fence_mode', 'text').execute()
    await db.schema.alterTable('rollout_attempts').addColumn('downtime', 'text').execute()
  },
}
