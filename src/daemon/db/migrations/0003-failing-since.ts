import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Since when a box is down or degraded, whichever of them it is now: a chat server that ends again and again is never long in one state. */
export const failingSince: Migration = {
  name: '0003-failing-since',
  async up(db) {
    await sql`alter table boxes add column failing_since text`.execute(db)
    await sql`update boxes set failing_since = health_since where health in ('down', 'degraded')`.execute(db)
  },
}
