import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** What an organisation was told of updates of its box: one row for each box of a rollout. */
export const maintenanceNotices: Migration = {
  name: '0014-maintenance-notices',
  async up(db) {
    await sql`create table maintenance_notices (
      id text primary key,
      tenant_id text not null references tenants (id),
      action_id text not null,
      status text not null,
      emergency integer not null,
      starts_at text,
      ends_by text,
      expected_downtime_ms bigint not null,
      measured integer not null,
      downtime_ms bigint,
      announced_at text not null,
      ended_at text,
      constraint maintenance_notices_once unique (action_id)
    )`.execute(db)
    await sql`create index maintenance_notices_of_tenant on maintenance_notices (tenant_id, announced_at)`.execute(db)
    await sql`create index maintenance_notices_planned on maintenance_notices (id) where status = 'planned'`.execute(db)
    await sql`create index maintenance_notices_ended on maintenance_notices (ended_at) where ended_at is not null`.execute(db)
  },
}
