import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { usableDatabase } from './databases.ts'
import { giveBack } from './spare-databases.ts'

/** Returns a database in which these statements ran; resolves to the next one handed out, and whether it is the same. */
async function nextAfter(...statements: readonly string[]) {
  const { db, url } = await usableDatabase()
  for (const statement of statements) await sql.raw(statement).execute(db)
  await db.destroy()
  giveBack(url)
  const next = await usableDatabase()
  const { rows } = await sql`select * from streams where stream = 'left'`.execute(next.db)
  await next.db.destroy()
  giveBack(next.url)
  return { isSame: next.url === url, rows }
}

test('a database that only has other rows is used again, without them', async () => {
  expect(await nextAfter(`insert into streams (stream, seq) values ('left', 7)`)).toEqual({ isSame: true, rows: [] })
})

test.each([
  ['a table under another name', 'alter table streams rename to elsewhere'],
  ['a column under another name', 'alter table streams rename column seq to place'],
  ['a column of another type', 'alter table streams alter column seq type text'],
  ['one table less and another more', 'drop table streams', 'create table elsewhere (stream text primary key, seq bigint not null)'],
  ['triggers that are off', 'alter table rollout_actions disable trigger all'],
])('one with %s is not', async (_, ...statements) => {
  expect(await nextAfter(...statements)).toEqual({ isSame: false, rows: [] })
})
