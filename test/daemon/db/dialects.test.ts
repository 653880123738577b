import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../../src/daemon/db/index.ts'

test('a statement that was said before knows a column that came since', async () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  const ask = () => sql`select * from things`.execute(db)
  await sql`create table things (name text)`.execute(db)
  await sql`insert into things values ('a')`.execute(db)
  expect((await ask()).rows).toEqual([{ name: 'a' }])
  await sql`alter table things add column size integer`.execute(db)
  expect((await ask()).rows).toEqual([{ name: 'a', size: null }])
})

test('more different statements than are kept are answered all the same', async () => {
  const { db, close } = openDatabase('sqlite::memory:')
  onTestFinished(close)
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < 600; n++) expect((await sql<{ n: number }>`select ${sql.raw(String(n))} as n`.execute(db)).rows).toEqual([{ n }])
})
