import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Rollouts that asked for the snapshot mode `alongside`, which is gone. Attempts keep it, because the audit log has their checksums. */
export const hotSnapshots: Migration = {
  name: '0016-hot-snapshots',
  async up(db) {
    await sql`update rollouts set snapshot_mode = 'hot' where snapshot_mode = 'alongside'`.execute(db)
    await sql`update rollout_plans set plan = replace(plan, '"snapshotMode":"alongside"', '"snapshotMode":"hot"')
      where plan like '%"snapshotMode":"alongside"%'`.execute(db)
  },
}
