import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Objects that a removal left on the host, and the reason why it has no last snapshot. */
export const removalRemarks: Migration = {
  name: '0011-removal-remarks',
  async up(db) {
    await sql`alter table box_removals add column remarks text`.execute(db)
    // Asked at each greeting of a host.
    await sql`create index box_removals_abandoned on box_removals (host_id) where state = 'erased' and error is not null`.execute(db)
  },
}
