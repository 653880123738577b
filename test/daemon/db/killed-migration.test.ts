import { copyFile, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Kysely, type KyselyPlugin, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { sha256Hex } from '../../../src/core/kit/index.ts'
import { type Db, migrate, migrationState, openDatabase } from '../../../src/daemon/db/index.ts'
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

/** Migrations that cannot be repeated if part of them was stored. */
const list = ['0001-tables', '0002-rows'].map((name, n) => ({
  name,
  async up(db: Kysely<unknown>) {
    await sql`create table ${sql.table(`first_${n}`)} (id integer primary key)`.execute(db)
    await sql`insert into ${sql.table(`first_${n}`)} (id) values (1)`.execute(db)
    await sql`create table ${sql.table(`second_${n}`)} (id integer primary key)`.execute(db)
  },
}))

test('migrations that were killed at any statement on SQLite are repeated at the next start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'killed-'))
  const file = join(folder, 'tenantry.db')
  const db = open(`sqlite:${file}`)
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
  await migrate(observed(db, copy), list)
  expect(statements).toBeGreaterThan(10)
  const pending = []
  for (const left of copies.values()) {
    const again = openDatabase(`sqlite:${left}`)
    pending.push((await migrationState(again.db, list)).pending.length)
    await migrate(again.db, list)
    expect(await migrationState(again.db, list)).toEqual({ pending: [], unknown: [] })
    await again.close()
  }
  expect(pending).toContain(2)
})

test('migrations whose connection is lost on PostgreSQL leave nothing, and are repeated at the next start', async () => {
  const url = await createPostgresDatabase()
  const [db, other] = [open(url), open(url)]
  const tables = sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public' and tablename like '%\\_1'`
  let isCut = false
  const lost = observed(db, async () => {
    // Of this database alone: the tests of other workers use the same server.
    const cut = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where state = 'idle in transaction' and query like 'create table "second_1"%' and datname = current_database()`
    isCut ||= (await cut.execute(other)).rows.length > 0
  })
  await expect(migrate(lost, list)).rejects.toThrow()
  expect([isCut, (await tables.execute(other)).rows]).toEqual([true, []])
  await migrate(db, list)
  expect(await migrationState(db, list)).toEqual({ pending: [], unknown: [] })
})
