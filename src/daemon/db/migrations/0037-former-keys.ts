import type { Migration } from './migration.ts'

/** Replaced keys of hosts: a later call by one proves a copy of the key. */
export const formerKeys: Migration = {
  name: '0037-former-keys',
  async up(db) {
    await db.schema
      .createTable('host_former_keys')
      .addColumn('key_id', 'text', (c) => c.primaryKey())
      .addColumn('host_id', 'text', (c) => c.notNull().references('hosts.id'))
      .addColumn('public_key', 'text', (c) => c.notNull())
      .addColumn('replaced_at', 'text', (c) => c.notNull())
      .addColumn('replaced_by', 'text')
      .execute()
    await db.schema.createIndex('host_former_keys_by_host').on('host_former_keys').column('host_id').execute()
  },
}
