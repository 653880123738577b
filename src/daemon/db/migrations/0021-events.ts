import type { Migration } from './migration.ts'

/** Events of tenants: whose they are, and who of them is told. */
export const tenantEvents: Migration = {
  name: '0021-events',
  async up(db) {
    await db.schema.alterTable('events').addColumn('tenant_id', 'text').execute()
    await db.schema.alterTable('events').addColumn('audience', 'text').execute()
  },
}
