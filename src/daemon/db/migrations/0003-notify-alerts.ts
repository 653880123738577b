import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Messages of closed alerts, and messages that wait for a digest. */
export const notifyAlerts: Migration = {
  name: '0003-notify-alerts',
  async up(db) {
    await sql`alter table alert_deliveries add column event text not null default 'raised'`.execute(db)
    await sql`alter table alert_deliveries add column held_until text`.execute(db)
    await sql`alter table alert_deliveries add column digest_id text`.execute(db)
    await sql`create index alert_deliveries_by_recipient on alert_deliveries (channel, target, created_at)`.execute(db)
    await sql`create index alert_deliveries_held on alert_deliveries (channel, target, held_until)`.execute(db)
    await sql`create index alert_deliveries_by_digest on alert_deliveries (digest_id)`.execute(db)
  },
}
