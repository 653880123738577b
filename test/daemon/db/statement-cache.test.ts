import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'

const inMemory = () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  return db
}

/** One database file, opened by two processes. */
function openTwice() {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-db-'))
  const url = `sqlite:${join(folder, 'tenantry.db')}`
  const [one, other] = [openDatabase(url), openDatabase(url)]
  onTestFinished(async () => {
    await one.close()
    await other.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { one: one.db, other: other.db }
}

test('a row has every column under its name on each run, whatever the value', async () => {
  const db = inMemory()
  const ask = () =>
    sql`select 1 as whole, 1.5 as part, 'text' as "a name", null as empty, x'00ff' as bytes union all select 2, 0, '', '', ''`.execute(db)
  for (let times = 0; times < 2; times++)
    expect((await ask()).rows).toEqual([
      { whole: 1, part: 1.5, 'a name': 'text', empty: null, bytes: Buffer.from([0, 255]) },
      { whole: 2, part: 0, 'a name': '', empty: '', bytes: '' },
    ])
  expect((await sql`select 1 as one where 1 = 0`.execute(db)).rows).toEqual([])
})

test('a cached statement returns a column that was added since it was prepared', async () => {
  const db = inMemory()
  const ask = () => sql`select * from things`.execute(db)
  await sql`create table things (name text)`.execute(db)
  await sql`insert into things values ('a')`.execute(db)
  expect((await ask()).rows).toEqual([{ name: 'a' }])
  await sql`alter table things add column size integer`.execute(db)
  expect((await ask()).rows).toEqual([{ name: 'a', size: null }])
})

test('a cached statement returns a column that another process has added', async () => {
  const { one, other } = openTwice()
  await sql`create table things (name text)`.execute(one)
  await sql`insert into things values ('a')`.execute(one)
  const ask = () => sql`select * from things`.execute(one)
  expect((await ask()).rows).toEqual([{ name: 'a' }])
  await sql`alter table things add column size integer`.execute(other)
  expect((await ask()).rows).toEqual([{ name: 'a', size: null }])
})

test('streamed rows are the same', async () => {
  const db = inMemory()
  await sql`create table streams (stream text, seq integer)`.execute(db)
  await db
    .insertInto('streams')
    .values([1, 2, 3].map((seq) => ({ stream: 's', seq })))
    .execute()
  const rows: unknown[] = []
  for await (const row of db.selectFrom('streams').selectAll().orderBy('seq').stream()) rows.push(row)
  expect(rows).toEqual([1, 2, 3].map((seq) => ({ stream: 's', seq })))
})

test('more statements than the cache size all run', async () => {
  const db = inMemory()
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < 600; n++) expect((await sql<{ n: number }>`select ${sql.raw(String(n))} as n`.execute(db)).rows).toEqual([{ n }])
})

test('a whole number is bound as an integer, and undefined as NULL', async () => {
  const { rows } = await sql`select typeof(${1}) as whole, typeof(${1.5}) as part, typeof(${undefined}) as none`.execute(inMemory())
  expect(rows).toEqual([{ whole: 'integer', part: 'real', none: 'null' }])
})

test('a text with two statements is refused, because drivers would ignore the second one', async () => {
  await expect(sql`select ';'; select 2`.execute(inMemory())).rejects.toThrow(/more than one/)
})
