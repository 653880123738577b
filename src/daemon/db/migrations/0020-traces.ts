import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The trace in which a rollout, job or command was created (`traceparent`); null where there was none. */
export const traces: Migration = {
  name: '0020-traces',
  async up(db) {
    for (const table of ['rollouts', 'jobs', 'commands']) await sql`alter table ${sql.table(table)} add column trace text`.execute(db)
  },
}
