import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Indexes to count what is limited per tenant: starts by events of other runs within an hour, and timers. */
export const tenantLimits: Migration = {
  name: '0065-tenant-limits',
  async up(db) {
    await db.schema
      .createIndex('trigger_occurrences_chained')
      .on('trigger_occurrences')
      .columns(['tenant_id', 'at'])
      .where(sql<boolean>`outcome = 'started' and depth > 0`)
      .execute()
    await db.schema.createIndex('run_timers_of_tenant').on('run_timers').column('tenant_id').execute()
  },
}
