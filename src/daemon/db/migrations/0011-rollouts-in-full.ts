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
  },
}
