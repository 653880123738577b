import { sql } from 'kysely'
import { dialectOf } from '../dialects.ts'
import type { Migration } from './migration.ts'

/**
 * Users get a mail address and an initial password that must be replaced; links of mails set a password; audit entries are found by the tenant
 * that their subject names.
 */
export const people: Migration = {
  name: '0007-people',
  async up(db) {
    await sql`alter table users add column email text`.execute(db)
    await sql`alter table users add column password_initial integer not null default 0`.execute(db)
    await sql`create table password_links (
      id text primary key,
      tenant_id text not null references tenants (id),
      user_id text not null references users (id),
      kind text not null,
      network text not null,
      address_hash text not null,
      created_at text not null,
      expires_at text not null,
      used_at text
    )`.execute(db)
    await sql`create index password_links_of_tenant on password_links (tenant_id, created_at)`.execute(db)
    await sql`create index password_links_of_user on password_links (user_id, created_at)`.execute(db)
    await sql`create index password_links_by_end on password_links (expires_at)`.execute(db)
    await sql`alter table audit add column about text`.execute(db)
    const slashAt = dialectOf(db) === 'postgres' ? sql`strpos(subject || '/', '/')` : sql`instr(subject || '/', '/')`
    await sql`update audit set about = substr(subject, 1, ${slashAt} - 1) where subject is not null`.execute(db)
    await sql`create index audit_about on audit (about, at, hash)`.execute(db)
  },
}
