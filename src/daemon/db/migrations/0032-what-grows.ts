import { type Kysely, sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Loops, scrapes and nightly jobs looked through all boxes, commands or spaces for the few that they are about. */
export const whatGrows: Migration = {
  name: '0032-what-grows',
  async up(db) {
    await boxes(db)
    // Logs of boxes are looked for every half minute among all that was asked of boxes in a month.
    await db.schema.createIndex('commands_by_kind').on('commands').columns(['kind', 'finished_at']).execute()
    await db.schema.createIndex('box_restores_by_status').on('box_restores').columns(['status', 'tenant_id']).execute()
    await db.schema.createIndex('snapshot_drills_by_time').on('snapshot_drills').column('at').execute()
    await db.schema.createIndex('admin_sessions_by_expiry').on('admin_sessions').column('expires_at').execute()
    await db.schema.createIndex('login_failures_forget').on('login_failures').column('forget_at').execute()
    await db.schema.createIndex('login_networks_last').on('login_networks').column('last_login_at').execute()
    await db.schema.createIndex('revocations_by_time').on('revocations').column('created_at').execute()
    // A run that ended has no lease.
    await sql`create index cron_runs_held on cron_runs (lease_until) where lease_until is not null`.execute(db)
    await sql`create index spaces_deleted on spaces (deleted_at) where deleted_at is not null`.execute(db)
  },
}

/**
 * A box's row holds its last report and probe: what only counts boxes reads an index and none of that. Nearly all are live, which a planner
 * without statistics takes for rare: an index that began with it was chosen before that of slugs, and all boxes were read to find three.
 */
async function boxes(db: Kysely<unknown>): Promise<void> {
  await sql`create index boxes_fenced on boxes (slug) where fence_since is not null`.execute(db)
  await sql`create index boxes_by_drift on boxes (drift_severity) where live = 1`.execute(db)
  await sql`create index boxes_live on boxes (managed, tenant_id, created_at) where live = 1`.execute(db)
  await sql`create index boxes_gone on boxes (set_up_command) where live = 0`.execute(db)
}
