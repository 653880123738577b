import type { Migration } from './migration.ts'

/** When each step of a command was first told, and a way to all attempts of a rollout. */
export const proof: Migration = {
  name: '0013-proof',
  async up(db) {
    await db.schema
      .alterTable('commands')
      .addColumn('steps', 'text', (c) => c.notNull().defaultTo('[]'))
      .execute()
    await db.schema
      .createIndex('rollout_attempts_by_rollout')
      .on('rollout_attempts')
      .columns(['rollout_id', 'action_id', 'attempt'])
      .execute()
  },
}
