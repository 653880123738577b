import type { Migration } from './migration.ts'

/** Spaces of tenants, who is in them, their folders, and what happened there. */
export const spaces: Migration = {
  name: '0022-spaces',
  async up(db) {
    await db.schema
      .createTable('spaces')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('type', 'text', (c) => c.notNull())
      .addColumn('visibility', 'text', (c) => c.notNull())
      .addColumn('revision', 'integer', (c) => c.notNull())
      .addColumn('chat_revision', 'integer', (c) => c.notNull())
      .addColumn('chat_space_id', 'text')
      .addColumn('chat_room_id', 'text')
      .addColumn('created_by', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addColumn('deleted_at', 'text')
      .execute()
    await db.schema.createIndex('spaces_of_tenant').on('spaces').columns(['tenant_id', 'id']).execute()
    await db.schema
      .createTable('space_members')
      .addColumn('space_id', 'text', (c) => c.notNull().references('spaces.id'))
      .addColumn('user_id', 'text', (c) => c.notNull().references('users.id'))
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('role', 'text', (c) => c.notNull())
      .addColumn('joined_at', 'text', (c) => c.notNull())
      .addColumn('chat_joined_at', 'text')
      .addPrimaryKeyConstraint('space_members_key', ['space_id', 'user_id'])
      .execute()
    await db.schema.createIndex('space_members_of_user').on('space_members').columns(['user_id']).execute()
    await db.schema
      .createTable('space_activity')
      .addColumn('space_id', 'text', (c) => c.notNull().references('spaces.id'))
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('type', 'text', (c) => c.notNull())
      .addColumn('actor_id', 'text')
      .addColumn('ids', 'text', (c) => c.notNull())
      .addColumn('at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('space_activity_key', ['space_id', 'seq'])
      .execute()
    await db.schema.createIndex('space_activity_by_time').on('space_activity').columns(['at']).execute()
    await db.schema
      .createTable('folders')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('space_id', 'text', (c) => c.notNull().references('spaces.id'))
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('created_by', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addUniqueConstraint('folders_of_space', ['space_id', 'name'])
      .execute()
  },
}
