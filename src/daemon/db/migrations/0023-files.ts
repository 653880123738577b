import type { Migration } from './migration.ts'

/** Files of spaces, and how much each tenant keeps. */
export const files: Migration = {
  name: '0023-files',
  async up(db) {
    await db.schema
      .createTable('files')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('space_id', 'text', (c) => c.notNull().references('spaces.id'))
      .addColumn('folder_id', 'text')
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('content_type', 'text', (c) => c.notNull())
      .addColumn('shown_as', 'text')
      .addColumn('bytes', 'bigint', (c) => c.notNull())
      .addColumn('sha256', 'text')
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('created_by', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .addColumn('deleted_at', 'text')
      .addColumn('erase_at', 'text')
      .execute()
    await db.schema.createIndex('files_newest').on('files').columns(['space_id', 'state', 'created_at', 'id']).execute()
    await db.schema.createIndex('files_of_folder').on('files').columns(['folder_id']).execute()
    await db.schema.createIndex('files_to_erase').on('files').columns(['erase_at', 'id']).execute()
    await db.schema
      .createTable('file_usage')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey().references('tenants.id'))
      .addColumn('bytes', 'bigint', (c) => c.notNull())
      .execute()
  },
}
