import type { Migration } from './migration.ts'

/** Users whose password nobody knows, and how many event streams each replica holds open for whom. */
export const userCare: Migration = {
  name: '0025-user-care',
  async up(db) {
    await db.schema.alterTable('users').addColumn('password_unknown_since', 'text').execute()
    await db.schema
      .createIndex('users_without_password')
      .on('users')
      .columns(['tenant_id', 'password_unknown_since', 'localpart'])
      .execute()
    await db.schema
      .createTable('stream_replicas')
      .addColumn('replica', 'text', (c) => c.primaryKey())
      .addColumn('lease_until', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('stream_places')
      .addColumn('user_id', 'text', (c) => c.notNull())
      .addColumn('replica', 'text', (c) => c.notNull())
      .addColumn('open', 'integer', (c) => c.notNull())
      .addPrimaryKeyConstraint('stream_places_pk', ['user_id', 'replica'])
      .execute()
    await db.schema.createIndex('stream_places_of_replica').on('stream_places').column('replica').execute()
  },
}
