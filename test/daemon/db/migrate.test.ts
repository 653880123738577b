import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { type Db, migrate, migrationState, openDatabase } from '../../../src/daemon/db/index.ts'
import { migrations } from '../../../src/daemon/db/migrations/index.ts'
import type { Migration } from '../../../src/daemon/db/migrations/migration.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'

onBothDialects('migrations', (fresh, dialect) => {
  test('applying the migrations again changes nothing', async () => {
    const db = await fresh()
    await migrate(db)
    expect(await db.selectFrom('leases').selectAll().execute()).toEqual([])
  })

  test('frequent queries use an index', async () => {
    const db = await fresh()
    const { rows } = await (dialect === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'index'`
      : sql<{ name: string }>`select indexname as name from pg_indexes`
    ).execute(db)
    const names = rows.map(({ name }) => name)
    for (const name of ['commands_of_host', 'snapshots_by_slug', 'snapshot_drills_by_snapshot', 'rollout_actions_by_box'])
      expect(names).toContain(name)
  })

  test('a database of a newer program is refused by name', async () => {
    const db = await fresh()
    await migrate(db, [...migrations, { name: '9999-future', up: async () => undefined }])
    await expect(migrate(db)).rejects.toSatisfy((error) => isProblem(error, 'DATABASE_NEWER') && error.message.includes('9999-future'))
  })

  test('migrations are applied in any order: branches that meet bring theirs, and a clock may be set back', async () => {
    const db = await fresh()
    const made = (name: string): Migration => ({ name, up: async () => undefined })
    const [second, third] = [made('0002-second'), made('0003-third')]
    await migrate(db, [...migrations, third])
    await sql`update schema_migrations set timestamp = '2001-01-01T00:00:00.000Z' where name = '0003-third'`.execute(db)
    await migrate(db, [...migrations, second, third])
    expect(await migrationState(db, [...migrations, second, third])).toEqual({ pending: [], unknown: [] })
  })

  test('a database of a build before the first release is refused with what to do', async () => {
    const db = await fresh()
    await sql`update schema_migrations set name = '0001-frame' where name like '0001-%'`.execute(db)
    const refused = migrate(db)
    await expect(refused).rejects.toSatisfy((error) => isProblem(error, 'DATABASE_UNRELEASED') && error.exit === 5)
    await expect(refused).rejects.toThrow(
      'The database was made by a build before the first release, and this version cannot read it. ' +
        'fix: move the data folder away, or name an empty database in TENANTRY_DATABASE, and start again',
    )
  })
})

test('the database template of the tests equals a migrated database', async () => {
  const schemaOf = async (db: Db) =>
    (await sql<{ sql: string }>`select type, name, tbl_name, sql from sqlite_master order by type, name`.execute(db)).rows
  const made = openDatabase('sqlite::memory:')
  await migrate(made.db)
  const { db } = await emptyDatabase('sqlite')
  expect(await schemaOf(db)).toEqual(await schemaOf(made.db))
  expect(await migrationState(db)).toEqual({ pending: [], unknown: [] })
  await made.close()
  await db.destroy()
})
