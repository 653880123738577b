import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** What a rollout asks Prometheus between its phases, and the answers. */
export const gates: Migration = {
  name: '0013-gates',
  async up(db) {
    await sql`alter table rollouts add column gates text`.execute(db)
  },
}
