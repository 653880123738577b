import type { Migration } from './migration.ts'

/** Until when operators may read the content of a tenant's boards, and the search of operators for runs. */
export const supportAccess: Migration = {
  name: '0041-support-access',
  async up(db) {
    await db.schema
      .createTable('support_access')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey().references('tenants.id'))
      .addColumn('granted_by', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('runs_of_tenant').on('runs').columns(['tenant_id', 'started_at', 'id']).execute()
  },
}
