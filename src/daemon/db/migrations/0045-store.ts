import type { Migration } from './migration.ts'

/** The store of modules: developers, uploaded packages, submissions, and approved modules. */
export const store: Migration = {
  name: '0045-store',
  async up(db) {
    await db.schema
      .createTable('store_invites')
      .addColumn('code_hash', 'text', (c) => c.primaryKey())
      .addColumn('created_by', 'text', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('used_at', 'text')
      .addColumn('used_by', 'text')
      .execute()
    await db.schema.createIndex('store_invites_by_end').on('store_invites').columns(['expires_at']).execute()
    await db.schema
      .createTable('store_developers')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('tenant_id', 'text', (c) => c.notNull().references('tenants.id'))
      .addColumn('user_id', 'text', (c) => c.unique().references('users.id'))
      .addColumn('email', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('organization', 'text', (c) => c.notNull())
      .addColumn('verified', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema
      .createTable('store_artifacts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('developer_id', 'text', (c) => c.notNull().references('store_developers.id'))
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('bytes', 'integer', (c) => c.notNull())
      .addColumn('sha256', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('store_artifacts_by_state').on('store_artifacts').columns(['state', 'created_at']).execute()
    await db.schema.createIndex('store_artifacts_by_developer').on('store_artifacts').columns(['developer_id', 'created_at']).execute()
    await db.schema
      .createTable('store_submissions')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('developer_id', 'text', (c) => c.notNull().references('store_developers.id'))
      .addColumn('artifact_id', 'text', (c) => c.notNull().unique().references('store_artifacts.id'))
      .addColumn('module_id', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('version', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('checksum', 'text', (c) => c.notNull())
      .addColumn('manifest', 'text', (c) => c.notNull())
      .addColumn('warnings', 'text', (c) => c.notNull())
      .addColumn('scan', 'text', (c) => c.notNull())
      .addColumn('test', 'text', (c) => c.notNull())
      .addColumn('review', 'text')
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'text', (c) => c.notNull())
      .execute()
    for (const [name, columns] of [
      ['store_submissions_own', ['developer_id', 'created_at', 'id']],
      ['store_submissions_open', ['status', 'created_at', 'id']],
      ['store_submissions_of_module', ['module_id', 'status']],
    ] as const)
      await db.schema
        .createIndex(name)
        .on('store_submissions')
        .columns([...columns])
        .execute()
    await db.schema
      .createTable('store_modules')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('developer_id', 'text', (c) => c.notNull().references('store_developers.id'))
      .addColumn('feature_flag', 'text', (c) => c.notNull().unique())
      .addColumn('version', 'text', (c) => c.notNull())
      .addColumn('submission_id', 'text', (c) => c.notNull())
      .addColumn('approved_at', 'text', (c) => c.notNull())
      .execute()
  },
}
