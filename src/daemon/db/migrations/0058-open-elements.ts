import { sql } from 'kysely'
import { dialectOf } from '../dialects.ts'
import type { Migration } from './migration.ts'

/**
 * Elements of runs are rows only while they are open: the history records how they ended. On PostgreSQL the end of a run stays an update within
 * its page, because an index of summaries does not name the row.
 */
export const openElements: Migration = {
  name: '0058-open-elements',
  async up(db) {
    await sql`delete from run_elements where status <> 'open'`.execute(db)
    await db.schema.dropIndex('run_elements_open').execute()
    await db.schema.alterTable('run_elements').dropColumn('status').execute()
    await db.schema.alterTable('run_elements').dropColumn('closed_at').execute()
    await db.schema.createIndex('run_elements_open').on('run_elements').columns(['tenant_id', 'role_key', 'opened_at']).execute()
    if (dialectOf(db) === 'sqlite') return
    await db.schema.dropIndex('runs_expiry').execute()
    await db.schema.createIndex('runs_expiry').on('runs').using('brin').column('expires_at').execute()
  },
}
