import type { Migration } from './migration.ts'

/**
 * Which rollouts have boxes to be brought back, and which snapshots that needs: asked every few seconds, of all rollouts there ever were. And
 * which background updates the chat server of before knew, because it had them under way.
 */
export const undo: Migration = {
  name: '0016-undo',
  async up(db) {
    await db.schema
      .createIndex('rollout_actions_by_undo')
      .on('rollout_actions')
      .columns(['undo_status', 'rollout_id'])
      .where('undo_status', 'is not', null)
      .execute()
    await db.schema.alterTable('rollout_attempts').addColumn('background_before', 'text').execute()
  },
}
