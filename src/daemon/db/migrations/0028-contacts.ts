import { type Kysely, sql } from 'kysely'
import { searchNameOf } from '../../../core/users/index.ts'
import type { Migration } from './migration.ts'

const atOnce = 500

/** What users are found by among the contacts of others, and what the files of a tenant are counted by. */
export const contacts: Migration = {
  name: '0028-contacts',
  async up(db) {
    await db.schema
      .alterTable('users')
      .addColumn('search_name', 'text', (c) => c.notNull().defaultTo(''))
      .execute()
    for (let last = ''; ; ) {
      const page = await nameSome(db, last)
      if (page === undefined) break
      last = page
    }
    await db.schema.createIndex('users_by_name').on('users').columns(['tenant_id', 'search_name', 'id']).execute()
    await db.schema.createIndex('files_of_tenant').on('files').columns(['tenant_id', 'space_id', 'state', 'bytes']).execute()
  },
}

type Named = { id: string; localpart: string; display_name: string | null }

/** Names some after that id; the last of them, undefined when there are no more. */
async function nameSome(db: Kysely<unknown>, after: string): Promise<string | undefined> {
  const { rows } = await sql<Named>`select id, localpart, display_name from users where id > ${after} order by id limit ${atOnce}`.execute(
    db,
  )
  const named = rows.map(({ id, localpart, display_name: displayName }) => sql`(${id}, ${searchNameOf({ displayName, localpart })})`)
  if (named.length > 0)
    await sql`update users set search_name = v.column2 from (values ${sql.join(named)}) as v where users.id = v.column1`.execute(db)
  return rows.at(-1)?.id
}
