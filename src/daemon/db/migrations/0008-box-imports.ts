import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Imports of foreign stacks into boxes. */
export const boxImports: Migration = {
  name: '0008-box-imports',
  async up(db) {
    await sql`create table box_imports (
      id text primary key,
      box_id text not null references boxes (id),
      host_id text not null,
      state text not null,
      reason text not null,
      asked_by text not null,
      folder text not null,
      project text not null,
      dropped text not null,
      facts text,
      written text,
      imported_at text,
      command_id text,
      error text,
      started_at text not null,
      changed_at text not null,
      finished_at text
    )`.execute(db)
    await sql`create unique index box_imports_open on box_imports (box_id) where finished_at is null`.execute(db)
    await sql`create index box_imports_of on box_imports (box_id, started_at)`.execute(db)
  },
}
