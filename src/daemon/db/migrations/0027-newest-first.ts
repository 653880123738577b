import type { Migration } from './migration.ts'

/** Lists that begin with the newest were sorted whole for each page, and restores of the boxes of a page looked for among all. */
export const newestFirst: Migration = {
  name: '0027-newest-first',
  async up(db) {
    await db.schema.createIndex('alerts_newest').on('alerts').columns(['last_at', 'id']).execute()
    await db.schema.createIndex('commands_of_box').on('commands').columns(['box_id', 'created_at', 'id']).execute()
    await db.schema.createIndex('box_restores_of_box').on('box_restores').columns(['box_id', 'status']).execute()
  },
}
