import type { Migration } from './migration.ts'

/** Which rollouts have boxes to be brought back, and which snapshots that needs: asked every few seconds, of all rollouts there ever were. */
export const undo: Migration = {
  name: '0016-undo',
  async up(db) {
    await db.schema
      .createIndex('rollout_actions_by_undo')
      .on('rollout_actions')
      .columns(['undo_status', 'rollout_id'])
      .where('undo_status', 'is not', null)
      .execute()
  },
}
