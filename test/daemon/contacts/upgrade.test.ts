import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { migrate, openDatabase } from '../../../src/daemon/db/index.ts'
import { migrations } from '../../../src/daemon/db/migrations/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'

const at = '2026-01-05T02:00:00.000Z'
const before = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === '0028-contacts'),
)

test.each(['sqlite', 'postgres'])('users created before the upgrade are found by name after it, on %s', async (dialect) => {
  const { db, close } = openDatabase(dialect === 'sqlite' ? 'sqlite::memory:' : await createPostgresDatabase())
  await migrate(db, before)
  await sql`insert into tenants (id, slug, chat_domain, name, plan, status, created_at)
    values ('ten_1', 'acme', 'acme.example', 'Acme', 'light', 'active', ${at})`.execute(db)
  const names = Array.from({ length: 501 }, (_, n) => [`usr_${n}`, `user${n}`, n === 500 ? null : `Özlem ${n}`] as const)
  const rows = names.map(([id, localpart, name]) => sql`(${id}, 'ten_1', ${localpart}, ${name}, '[]', 'active', ${at}, ${at})`)
  await sql`insert into users (id, tenant_id, localpart, display_name, roles, status, created_at, updated_at) values ${sql.join(rows)}`.execute(
    db,
  )
  await migrate(db)
  const found = await db.selectFrom('users').select(['id', 'search_name']).execute()
  expect(new Map(found.map(({ id, search_name }) => [id, search_name]))).toEqual(
    new Map(names.map(([id, localpart, name], n) => [id, name === null ? `${localpart} ${localpart}` : `ozlem ${n} ${localpart}`])),
  )
  await close()
})
