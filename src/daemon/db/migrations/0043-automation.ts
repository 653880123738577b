import type { Migration } from './migration.ts'

/** Keys of automation tools, their repeated calls, the rooms of their events, and the chat tokens of automation users. */
export const automation: Migration = {
  name: '0043-automation',
  async up(db) {
    await db.schema
      .createTable('automation_keys')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull().unique())
      .addColumn('hash', 'text', (c) => c.notNull().unique())
      .addColumn('prefix', 'text', (c) => c.notNull())
      .addColumn('created_by', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text')
      .addColumn('last_used_at', 'text')
      .execute()
    await db.schema
      .createTable('automation_key_tenants')
      .addColumn('key_id', 'text', (c) => c.notNull().references('automation_keys.id'))
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('automation_key_tenants_pk', ['key_id', 'tenant_id'])
      .execute()
    await db.schema
      .createTable('automation_calls')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('operation', 'text', (c) => c.notNull())
      .addColumn('key_hash', 'text', (c) => c.notNull())
      .addColumn('request_hash', 'text', (c) => c.notNull())
      .addColumn('answer', 'text')
      .addColumn('lock_until', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('automation_calls_pk', ['tenant_id', 'operation', 'key_hash'])
      .execute()
    await db.schema.createIndex('automation_calls_by_age').on('automation_calls').columns(['created_at']).execute()
    await db.schema
      .createTable('automation_rooms')
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('event_id', 'text', (c) => c.notNull())
      .addColumn('room_id', 'text')
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('topic', 'text')
      .addColumn('members', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('automation_rooms_pk', ['tenant_id', 'event_id'])
      .execute()
    await db.schema.createIndex('automation_rooms_by_room').on('automation_rooms').columns(['tenant_id', 'room_id']).execute()
    await db.schema
      .createTable('automation_credentials')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey())
      .addColumn('sealed', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'text', (c) => c.notNull())
      .execute()
  },
}
