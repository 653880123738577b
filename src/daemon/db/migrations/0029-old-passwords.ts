import type { Migration } from './migration.ts'

/** When users were given a password last, and whose chat server has gone back to a day before that. */
export const oldPasswords: Migration = {
  name: '0029-old-passwords',
  async up(db) {
    await db.schema
      .createTable('user_passwords')
      .addColumn('user_id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('set_at', 'text', (c) => c.notNull())
      .addColumn('old_since', 'text')
      .execute()
    await db.schema.createIndex('user_passwords_of_tenant').on('user_passwords').columns(['tenant_id', 'old_since']).execute()
  },
}
