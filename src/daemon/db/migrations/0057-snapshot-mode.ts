import type { Migration } from './migration.ts'

/** When the snapshots of a rollout are stored; `auto`: by the setting of each tier. */
export const snapshotMode: Migration = {
  name: '0057-snapshot-mode',
  async up(db) {
    await db.schema
      .alterTable('rollouts')
      .addColumn('snapshot_mode', 'text', (c) => c.notNull().defaultTo('auto'))
      .execute()
  },
}
