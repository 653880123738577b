import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Passkeys of operators, and the challenges that were answered. */
export const passkeys: Migration = {
  name: '0019-passkeys',
  async up(db) {
    await sql`create table admin_passkeys (
      id text primary key,
      account_id text not null references admin_accounts (id),
      name text not null,
      credential_id text not null unique,
      public_key text not null,
      sign_count bigint not null,
      created_at text not null,
      last_used_at text,
      unique (account_id, name)
    )`.execute(db)
    await sql`create table admin_passkey_challenges (hash text primary key, expires_at text not null)`.execute(db)
    await sql`create index admin_passkey_challenges_by_end on admin_passkey_challenges (expires_at)`.execute(db)
  },
}
