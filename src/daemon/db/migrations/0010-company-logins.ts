import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Accounts that log in at a provider (OpenID Connect), and logins of command lines that a browser approves. */
export const companyLogins: Migration = {
  name: '0010-company-logins',
  async up(db) {
    await sql`alter table admin_accounts add column provider_issuer text`.execute(db)
    await sql`alter table admin_accounts add column provider_subject text`.execute(db)
    await sql`create unique index admin_accounts_of_provider on admin_accounts (provider_issuer, provider_subject)`.execute(db)
    await sql`create table admin_cli_logins (
      device_hash text primary key,
      user_code text not null unique,
      address text not null,
      created_at text not null,
      expires_at text not null,
      account_id text references admin_accounts (id),
      proven_at text
    )`.execute(db)
  },
}
