import type { Migration } from './migration.ts'

/** Flow boards and their saved versions. A version never changes. */
export const boards: Migration = {
  name: '0039-boards',
  async up(db) {
    await db.schema
      .createTable('boards')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('space_id', 'text')
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('description', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('version', 'integer', (c) => c.notNull())
      .addColumn('published_version', 'integer')
      .addColumn('created_by', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('boards_newest').on('boards').columns(['tenant_id', 'created_at', 'id']).execute()
    await db.schema
      .createTable('board_versions')
      .addColumn('board_id', 'text', (c) => c.notNull().references('boards.id'))
      .addColumn('version', 'integer', (c) => c.notNull())
      .addColumn('tenant_id', 'text', (c) => c.notNull())
      .addColumn('definition', 'text', (c) => c.notNull())
      .addColumn('saved_by', 'text')
      .addColumn('saved_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('board_versions_pk', ['board_id', 'version'])
      .execute()
  },
}
