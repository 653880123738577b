import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Ways back of whole rollouts, what steps took, when the chat opens again during an update, and when a tenant may be disturbed. */
export const rolloutsInFull: Migration = {
  name: '0011-rollouts-in-full',
  async up(db) {
    await db.schema
      .alterTable('rollouts')
      .addColumn('fence_mode', 'text', (c) => c.notNull().defaultTo('until-stable'))
      .execute()
    for (const column of ['undo_mode', 'undo_status', 'undo_error'])
      await db.schema.alterTable('rollout_actions').addColumn(column, 'text').execute()
    await db.schema
      .alterTable('rollout_attempts')
      .addColumn('kind', 'text', (c) => c.notNull().defaultTo('update'))
      .execute()
    await db.schema
      .alterTable('rollout_attempts')
      .addColumn('images_before', 'text', (c) => c.notNull().defaultTo('{}'))
      .execute()
    await db.schema
      .alterTable('rollout_attempts')
      .addColumn('steps', 'text', (c) => c.notNull().defaultTo('[]'))
      .execute()
    for (const column of ['time_zone', 'maintenance_window']) await db.schema.alterTable('tenants').addColumn(column, 'text').execute()
    await db.schema
      .createTable('rollout_plans')
      .addColumn('rollout_id', 'text', (c) => c.primaryKey().references('rollouts.id'))
      .addColumn('plan', 'text', (c) => c.notNull())
      .execute()
    // Megabytes in the row that every step reads and writes: it is dearer than all the rest of the step.
    await sql`insert into rollout_plans (rollout_id, plan) select id, plan from rollouts`.execute(db)
    await db.schema.alterTable('rollouts').dropColumn('plan').execute()
    // A rollout of thousands of boxes looks for those in flight and those whose turn is next, several times per box.
    await db.schema
      .createIndex('rollout_actions_in_turn')
      .on('rollout_actions')
      .columns(['rollout_id', 'status', 'phase', 'expected_ms desc', 'slug'])
      .execute()
    await db.schema
      .createIndex('rollout_actions_told')
      .on('rollout_actions')
      .columns(['rollout_id', 'status', 'phase'])
      .where(sql.ref('progress'), 'is not', null)
      .execute()
  },
}
