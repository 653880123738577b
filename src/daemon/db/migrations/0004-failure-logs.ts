import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The last lines of the services that failed in an attempt. */
export const failureLogs: Migration = {
  name: '0004-failure-logs',
  async up(db) {
    await sql`alter table rollout_attempts add column logs text`.execute(db)
  },
}
