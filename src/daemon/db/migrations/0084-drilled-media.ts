import type { Migration } from './migration.ts'

/** How many media files a drill compared; null for drills that did not come that far, and of agents that compared none. */
export const drilledMedia: Migration = {
  name: '0084-drilled-media',
  async up(db) {
    await db.schema.alterTable('snapshot_drills').addColumn('media', 'text').execute()
  },
}
