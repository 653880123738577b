import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The latest rehearsal of an upgrade of PostgreSQL, one per box. */
export const upgradeRehearsals: Migration = {
  name: '0015-upgrade-rehearsals',
  async up(db) {
    await sql`create table upgrade_rehearsals (
      box_id text primary key references boxes (id),
      tenant_id text not null,
      command_id text not null,
      at text not null,
      ok integer not null,
      result text not null
    )`.execute(db)
  },
}
