import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The health that the last report of a box showed, for counts and alerts, which read all boxes at once; and how the disks of hosts fill. */
export const health: Migration = {
  name: '0002-health',
  async up(db) {
    await sql`alter table boxes add column health text`.execute(db)
    await sql`alter table boxes add column health_why text`.execute(db)
    await sql`alter table boxes add column health_since text`.execute(db)
    // Whichever of down and degraded it is now: a chat server that ends again and again is never long in one state.
    await sql`alter table boxes add column failing_since text`.execute(db)
    await sql`alter table hosts add column disk_samples text`.execute(db)
    await sql`create index alerts_open_by_kind on alerts (kind, open_key, subject) where open_key is not null`.execute(db)
    await sql`create index boxes_not_running on boxes (failing_since) where health in ('down', 'degraded')`.execute(db)
  },
}
