import type { Migration } from './migration.ts'

/** The token of the platform's bot in each box. Only for the token of a device does a chat server remember transaction ids over a restart. */
export const botTokens: Migration = {
  name: '0076-bot-tokens',
  async up(db) {
    await db.schema
      .createTable('bot_tokens')
      .addColumn('box_id', 'text', (c) => c.primaryKey().references('boxes.id'))
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
  },
}
