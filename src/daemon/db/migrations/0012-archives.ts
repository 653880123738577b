import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Archives of boxes: their parts in the repositories, and how far each is. */
export const archives: Migration = {
  name: '0012-archives',
  async up(db) {
    await sql`create table archive_parts (
      tenant_id text not null,
      snapshot_id text not null,
      box_id text not null,
      kind text not null,
      line text not null,
      from_lsn text not null,
      to_lsn text not null,
      at text not null,
      data text,
      added_bytes bigint not null,
      constraint archive_parts_id primary key (tenant_id, snapshot_id)
    )`.execute(db)
    await sql`create index archive_parts_of_box on archive_parts (box_id, at)`.execute(db)
    await sql`create table archive_states (
      box_id text primary key references boxes (id),
      tenant_id text not null,
      line text,
      covered_until text,
      reported_at text not null,
      error text
    )`.execute(db)
  },
}
