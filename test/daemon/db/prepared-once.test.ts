import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { onOneConnection, openDatabase, prepared } from '../../../src/daemon/db/index.ts'

/** One database, opened by two. */
function byTwo() {
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

test('a row has every column under its name, whatever it holds, and as often as it is asked for', async () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  const ask = () =>
    sql`select 1 as whole, 1.5 as part, 'text' as "a name", null as empty, x'00ff' as bytes union all select 2, 0, '', '', ''`.execute(db)
  for (let times = 0; times < 2; times++)
    expect((await ask()).rows).toEqual([
      { whole: 1, part: 1.5, 'a name': 'text', empty: null, bytes: Buffer.from([0, 255]) },
      { whole: 2, part: 0, 'a name': '', empty: '', bytes: '' },
    ])
  expect((await sql`select 1 as one where 1 = 0`.execute(db)).rows).toEqual([])
})

test('a row knows a column that another process has added since it was asked for last', async () => {
  const { one, other } = byTwo()
  await sql`create table things (name text)`.execute(one)
  await sql`insert into things values ('a')`.execute(one)
  const ask = () => sql`select * from things`.execute(one)
  expect((await ask()).rows).toEqual([{ name: 'a' }])
  await sql`alter table things add column size integer`.execute(other)
  expect((await ask()).rows).toEqual([{ name: 'a', size: null }])
})

test('rows that are read one by one are the same', async () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  await sql`create table streams (stream text, seq integer)`.execute(db)
  await db
    .insertInto('streams')
    .values([1, 2, 3].map((seq) => ({ stream: 's', seq })))
    .execute()
  const rows: unknown[] = []
  for await (const row of db.selectFrom('streams').selectAll().orderBy('seq').stream()) rows.push(row)
  expect(rows).toEqual([1, 2, 3].map((seq) => ({ stream: 's', seq })))
})

test('what one look sees is of one moment, whatever others commit meanwhile', async () => {
  const { one, other } = byTwo()
  await sql`create table streams (stream text, seq integer)`.execute(one)
  const count = prepared<Record<never, never>, { seq: number }>((db) => db.selectFrom('streams').select('seq'))
  const add = () => other.insertInto('streams').values({ stream: 's', seq: 1 }).execute()
  const seen = await onOneConnection(one, async (db) => {
    const first = (await count(db, {})).rows.length
    await add()
    return [first, (await count(db, {})).rows.length]
  })
  expect(seen).toEqual([0, 0])
  expect((await count(one, {})).rows).toHaveLength(1)
})

test('a look that fails leaves the connection as it was', async () => {
  const { one } = byTwo()
  await sql`create table streams (stream text, seq integer)`.execute(one)
  const failing = onOneConnection(one, async () => {
    throw new Error('changed my mind')
  })
  await expect(failing).rejects.toThrow('changed my mind')
  await one.transaction().execute((tx) => tx.insertInto('streams').values({ stream: 's', seq: 1 }).execute())
})
