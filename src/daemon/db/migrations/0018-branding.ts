import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Colour and logo of tenants. A row of `logos` is written before the object with its bytes, and deleted after it. */
export const branding: Migration = {
  name: '0018-branding',
  async up(db) {
    await sql`alter table tenants add column brand_color text`.execute(db)
    await sql`alter table tenants add column logo_id text`.execute(db)
    await sql`create table logos (
      id text primary key,
      tenant_id text not null references tenants (id),
      state text not null,
      content_type text not null,
      bytes integer not null,
      width integer not null,
      height integer not null,
      sha256 text,
      created_at text not null,
      erase_at text
    )`.execute(db)
    await sql`create index logos_of_tenant on logos (tenant_id)`.execute(db)
    await sql`create index logos_to_erase on logos (erase_at, id) where erase_at is not null`.execute(db)
  },
}
