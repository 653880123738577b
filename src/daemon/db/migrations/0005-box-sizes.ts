import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Sizes of boxes, one row per box and day. */
export const boxSizes: Migration = {
  name: '0005-box-sizes',
  async up(db) {
    await sql`create table box_sizes (
      box_id text not null references boxes (id),
      day text not null,
      database_bytes bigint,
      media_bytes bigint,
      object_bytes bigint,
      primary key (box_id, day)
    )`.execute(db)
    await sql`create index box_sizes_by_day on box_sizes (day)`.execute(db)
  },
}
