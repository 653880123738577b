import { copyFile, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KyselyPlugin, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { isProblem, sha256Hex } from '../../../src/core/kit/index.ts'
import { type Db, migrate, migrationState, openDatabase } from '../../../src/daemon/db/index.ts'
import { migrations } from '../../../src/daemon/db/migrations/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'

const open = (url: string): Db => {
  const { db, close } = openDatabase(url)
  onTestFinished(close)
  return db
}

/** Calls `observe` after every statement. */
const observed = (db: Db, observe: () => Promise<void>): Db => {
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      await observe()
      return result
    },
  }
  return db.withPlugin(plugin)
}

const upTo = (name: string) => migrations.slice(0, migrations.findIndex((one) => one.name === name) + 1)

/** A new database, and one that an older version left. */
const before = [[], upTo('0010-hosts')] as const

test.each(before)('a daemon killed at any statement of its migrations on SQLite starts again (%#)', async (...earlier) => {
  const folder = await mkdtemp(join(tmpdir(), 'killed-'))
  const file = join(folder, 'tenantry.db')
  const db = open(`sqlite:${file}`)
  await migrate(db, earlier)
  const copies = new Map<string, string>()
  let statements = 0
  /** The files at this moment are what a killed process leaves. */
  const copy = async () => {
    statements += 1
    const [main, wal] = [await readFile(file), await readFile(`${file}-wal`).catch(() => Buffer.alloc(0))]
    const hash = sha256Hex(Buffer.concat([main, wal]))
    if (copies.has(hash)) return
    const left = join(folder, `${copies.size}.db`)
    copies.set(hash, left)
    await copyFile(file, left)
    await copyFile(`${file}-wal`, `${left}-wal`).catch(() => undefined)
  }
  await migrate(observed(db, copy))
  expect(statements).toBeGreaterThan(100)
  for (const left of copies.values()) {
    const again = openDatabase(`sqlite:${left}`)
    await migrate(again.db)
    expect(await migrationState(again.db)).toEqual({ pending: [], unknown: [] })
    await again.close()
  }
})

test.each(before)('a daemon killed at any statement of its migrations on PostgreSQL leaves nothing of them (%#)', async (...earlier) => {
  const url = await createPostgresDatabase()
  const [db, other] = [open(url), open(url)]
  await migrate(db, earlier)
  const columns = sql<{ count: number }>`select count(*) as count from information_schema.columns where table_schema = 'public'`
  const visible = async () => (await columns.execute(other)).rows[0]?.count
  const counts = new Set([await visible()])
  let statements = 0
  await migrate(
    observed(db, async () => {
      statements += 1
      if (statements % 10 === 0) counts.add(await visible())
    }),
  )
  expect(statements).toBeGreaterThan(100)
  expect([...counts]).toHaveLength(1)
  expect(await visible()).toBeGreaterThan(500)
})

test('a connection that is lost in a migration leaves the next start to do it', async () => {
  const url = await createPostgresDatabase()
  const [db, admin] = [open(url), open(url)]
  let statements = 0
  const lost = observed(db, async () => {
    statements += 1
    if (statements === 200)
      // Only of this database: the tests of other workers use the same server.
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where state = 'idle in transaction' and datname = current_database()`.execute(admin)
  })
  await expect(migrate(lost)).rejects.toThrow()
  await migrate(db)
  expect(await migrationState(db)).toEqual({ pending: [], unknown: [] })
})

test('a SQLite file that 0.1.0 left in the middle of a migration is refused with what to do', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'half-')), 'tenantry.db')
  const db = open(`sqlite:${file}`)
  await migrate(db, upTo('0009-life-cycle'))
  await sql`alter table hosts add column key_since text`.execute(db)
  const refused = migrate(db)
  await expect(refused).rejects.toSatisfy((error) => isProblem(error, 'DATABASE_INCOMPLETE') && error.exit === 5)
  await expect(refused).rejects.toThrow(
    `Migration 0010-hosts cannot be applied to ${file} (duplicate column name: key_since): an earlier version was killed while it migrated. ` +
      `fix: restore the copy made before the upgrade; for a new installation: mv ${file} ${file}.broken, then start again`,
  )
  expect((await migrationState(db)).pending).toHaveLength(migrations.length - upTo('0009-life-cycle').length)
})
