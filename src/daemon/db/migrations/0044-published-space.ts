import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** The space of the published version of a board: a saved one is not in force yet. */
export const publishedSpace: Migration = {
  name: '0044-published-space',
  async up(db) {
    await db.schema.alterTable('boards').addColumn('published_space_id', 'text').execute()
    await sql`update boards set published_space_id = space_id where published_version is not null`.execute(db)
  },
}
