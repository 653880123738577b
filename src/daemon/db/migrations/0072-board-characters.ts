import { sql } from 'kysely'
import type { Migration } from './migration.ts'

/** Characters of each saved version of a board: their total of a tenant is read from the index, without the definitions. */
export const boardCharacters: Migration = {
  name: '0072-board-characters',
  async up(db) {
    await db.schema
      .alterTable('board_versions')
      .addColumn('characters', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
    await sql`update board_versions set characters = length(definition)`.execute(db)
    await db.schema.createIndex('board_versions_of_tenant').on('board_versions').columns(['tenant_id', 'characters']).execute()
  },
}
