import type { Migration } from './migration.ts'

/** With the used token it gives the successor again, within the grace time. */
export const successorSalts: Migration = {
  name: '0079-successor-salts',
  async up(db) {
    await db.schema.alterTable('refresh_tokens').addColumn('successor_salt', 'text').execute()
  },
}
