import type { Migration } from './migration.ts'

/** Tenants that are above 80 % of their budget: since when, and whether an operator was told of it. */
export const limits: Migration = {
  name: '0020-limits',
  async up(db) {
    await db.schema
      .createTable('budget_episodes')
      .addColumn('tenant_id', 'text', (c) => c.primaryKey().references('tenants.id').onDelete('cascade'))
      .addColumn('since', 'text', (c) => c.notNull())
      .addColumn('last_above_at', 'text', (c) => c.notNull())
      .addColumn('told', 'integer', (c) => c.notNull())
      .execute()
  },
}
