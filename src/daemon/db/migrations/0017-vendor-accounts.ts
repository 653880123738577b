import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Accounts of vendors: links of mails, sessions, screenshots of submissions, new versions by their vendor, and withdrawn items. */
export const vendorAccounts: Migration = {
  name: '0017-vendor-accounts',
  async up(db) {
    await sql`create table vendor_links (
      id text primary key,
      email text not null,
      created_at text not null,
      expires_at text not null,
      used_at text
    )`.execute(db)
    await sql`create index vendor_links_by_end on vendor_links (expires_at)`.execute(db)
    await sql`create table vendor_sessions (
      id text primary key,
      token_hash text not null unique,
      email text not null,
      created_at text not null,
      expires_at text not null
    )`.execute(db)
    await sql`create index vendor_sessions_by_end on vendor_sessions (expires_at)`.execute(db)
    await sql`create table marketplace_screenshots (
      id text primary key,
      submission_id text not null,
      state text not null,
      content_type text not null,
      bytes integer not null,
      width integer not null,
      height integer not null,
      sha256 text not null,
      created_at text not null
    )`.execute(db)
    await sql`create index marketplace_screenshots_of_submission on marketplace_screenshots (submission_id, created_at)`.execute(db)
    await sql`create index marketplace_screenshots_unfinished on marketplace_screenshots (created_at) where state <> 'stored'`.execute(db)
    await sql`alter table marketplace_items add column withdrawn_at text`.execute(db)
    await sql`alter table marketplace_submissions add column item_id text`.execute(db)
    await sql`create index marketplace_vendors_of_address on marketplace_vendors (lower(contact_email), created_at, id)`.execute(db)
    await sql`create index marketplace_submissions_of_address on marketplace_submissions (lower(vendor_email), created_at, id)`.execute(db)
    await sql`create index marketplace_submissions_for_item on marketplace_submissions (item_id)`.execute(db)
    await sql`create index marketplace_submissions_as_item on marketplace_submissions (approved_item_id)`.execute(db)
    await sql`create index marketplace_submissions_of_vendor on marketplace_submissions (vendor_id)`.execute(db)
    await sql`create index billing_spans_of_item on billing_spans (item_id)`.execute(db)
    await sql`create index billing_reports_of_item on billing_reports (item_id, month)`.execute(db)
    await sql`create index billing_payouts_of_vendor on billing_payouts (vendor_id, created_at, id)`.execute(db)
  },
}
