import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Each event of a run that could start another run counts the starts of its tenant within an hour. */
export const chainedStarts: Migration = {
  name: '0065-chained-starts',
  async up(db) {
    await db.schema
      .createIndex('trigger_occurrences_chained')
      .on('trigger_occurrences')
      .columns(['tenant_id', 'at'])
      .where(sql<boolean>`outcome = 'started' and depth > 0`)
      .execute()
  },
}
