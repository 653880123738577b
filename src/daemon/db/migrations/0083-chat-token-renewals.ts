import type { Migration } from './migration.ts'

/** Which daemon logs in to a box at the moment, so that no other one does. */
export const chatTokenRenewals: Migration = {
  name: '0083-chat-token-renewals',
  async up(db) {
    await db.schema
      .createTable('chat_token_renewals')
      .addColumn('box_id', 'text', (c) => c.notNull().references('boxes.id'))
      .addColumn('token_of', 'text', (c) => c.notNull())
      .addColumn('owner', 'text', (c) => c.notNull())
      .addColumn('lease_until', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('chat_token_renewals_pk', ['box_id', 'token_of'])
      .execute()
  },
}
