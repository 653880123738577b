import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Why a tenant is suspended, and until when it is resumed although the cause is left. */
export const suspensionCauses: Migration = {
  name: '0078-suspension-causes',
  async up(db) {
    await db.schema.alterTable('tenants').addColumn('suspended_cause', 'text').execute()
    await db.schema.alterTable('tenants').addColumn('resumed_until', 'text').execute()
    const cause = sql`case when suspended_reason = 'billing: the subscription of the plan ended' then 'plan_ended' else 'operator' end`
    await sql`update tenants set suspended_cause = ${cause} where status = 'suspended'`.execute(db)
  },
}
