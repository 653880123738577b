import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Which boxes of a rollout wait for their maintenance window, and which rollouts pass over windows. */
export const windows: Migration = {
  name: '0015-windows',
  async up(db) {
    await db.schema
      .alterTable('rollouts')
      .addColumn('ignore_windows', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
    await db.schema
      .alterTable('rollout_actions')
      .addColumn('expected_fence_ms', 'bigint', (c) => c.notNull().defaultTo(0))
      .execute()
    await db.schema.alterTable('rollout_actions').addColumn('waits_until', 'text').execute()
    // Whether windows have to be looked at all is asked several times per box.
    await db.schema
      .createIndex('rollout_actions_waiting')
      .on('rollout_actions')
      .columns(['rollout_id', 'status', 'waits_until'])
      .where(sql.ref('waits_until'), 'is not', null)
      .execute()
    await db.schema
      .createIndex('tenants_with_window')
      .on('tenants')
      .columns(['id'])
      .where(sql.ref('maintenance_window'), 'is not', null)
      .execute()
  },
}
