import type { Migration } from './migration.ts'

/** Approved versions of modules, signed, and ratings. */
export const storeVersions: Migration = {
  name: '0047-store-versions',
  async up(db) {
    await db.schema
      .createTable('store_versions')
      .addColumn('module_id', 'text', (c) => c.notNull().references('store_modules.id'))
      .addColumn('version', 'text', (c) => c.notNull())
      .addColumn('ordinal', 'integer', (c) => c.notNull())
      .addColumn('developer_id', 'text', (c) => c.notNull().references('store_developers.id'))
      .addColumn('submission_id', 'text', (c) => c.notNull())
      .addColumn('artifact_id', 'text', (c) => c.notNull().unique().references('store_artifacts.id'))
      .addColumn('checksum', 'text', (c) => c.notNull())
      .addColumn('manifest', 'text', (c) => c.notNull())
      .addColumn('category', 'text', (c) => c.notNull())
      .addColumn('search', 'text', (c) => c.notNull())
      .addColumn('approved_at', 'text', (c) => c.notNull())
      .addColumn('key_id', 'text', (c) => c.notNull())
      .addColumn('signature', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('store_versions_key', ['module_id', 'version'])
      .execute()
    await db.schema.createIndex('store_versions_newest').on('store_versions').columns(['module_id', 'ordinal']).execute()
    await db.schema
      .createTable('store_ratings')
      .addColumn('id', 'text', (c) => c.notNull().unique())
      .addColumn('module_id', 'text', (c) => c.notNull().references('store_modules.id'))
      .addColumn('user_id', 'text', (c) => c.notNull().references('users.id'))
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('rating', 'integer', (c) => c.notNull())
      .addColumn('comment', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('store_ratings_key', ['module_id', 'user_id'])
      .execute()
    await db.schema.createIndex('store_ratings_newest').on('store_ratings').columns(['module_id', 'created_at', 'user_id']).execute()
    await db.schema.createIndex('store_ratings_of_user').on('store_ratings').columns(['user_id']).execute()
  },
}
