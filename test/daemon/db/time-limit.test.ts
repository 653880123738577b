import { type Kysely, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Db, migrate, noAnswerOf, openDatabase } from '../../../src/daemon/db/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'
import { wayTo } from '../../support/way-to-server.ts'

const statementTimeoutMs = 400
const seconds = (n: number) => sql`select pg_sleep(${sql.lit(n)})`

function opened(url: string, statementTimeoutMs: number): Db {
  const { db, close } = openDatabase(url, { statementTimeoutMs })
  onTestFinished(close)
  return db
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it went through'),
    (error: unknown) => error,
  )

describe('on PostgreSQL', () => {
  test('a slow statement is cancelled, and the connection stays usable', async () => {
    const db = opened(await createPostgresDatabase(), statementTimeoutMs)
    expect(noAnswerOf(await failureOf(seconds(5).execute(db)))).toBe('slow')
    expect((await sql<{ n: number }>`select 1 as n`.execute(db)).rows).toEqual([{ n: 1 }])
  })

  test('a statement that waits for a lock is cancelled', async () => {
    const url = await createPostgresDatabase()
    const [db, holding] = [opened(url, statementTimeoutMs), opened(url, 0)]
    await sql`create table things (n integer)`.execute(db)
    await holding.transaction().execute(async (tx) => {
      await sql`lock table things`.execute(tx)
      expect(noAnswerOf(await failureOf(sql`select * from things`.execute(db)))).toBe('slow')
    })
    expect((await sql`select * from things`.execute(db)).rows).toEqual([])
  })

  test('an idle transaction is ended and its locks are released: a stalled daemon blocks no other', async () => {
    const url = await createPostgresDatabase()
    const [still, other] = [opened(url, statementTimeoutMs), opened(url, 30_000)]
    await sql`create table things (n integer)`.execute(other)
    const resting = still.transaction().execute(async (tx) => {
      await sql`insert into things values (1)`.execute(tx)
      await sql`lock table things`.execute(tx)
      await sql`select * from things`.execute(other)
      await sql`insert into things values (2)`.execute(tx)
    })
    expect(noAnswerOf(await failureOf(resting))).toBeDefined()
    expect((await sql`select * from things`.execute(other)).rows).toEqual([])
    expect((await sql`select * from things`.execute(still)).rows).toEqual([])
  })

  test('a migration has no limit', async () => {
    const db = opened(await createPostgresDatabase(), statementTimeoutMs)
    const up = async (own: Kysely<unknown>) => void (await seconds((3 * statementTimeoutMs) / 1000).execute(own))
    await migrate(db, [{ name: '0001-long', up }])
    expect((await sql<{ name: string }>`select name from schema_migrations`.execute(db)).rows).toEqual([{ name: '0001-long' }])
  })

  test('without a limit nothing is cancelled', async () => {
    const db = opened(await createPostgresDatabase(), 0)
    await seconds((3 * statementTimeoutMs) / 1000).execute(db)
  })

  test('a server that vanished is abandoned soon after the limit, and reconnected', async () => {
    const way = await wayTo(await createPostgresDatabase())
    onTestFinished(way.close)
    const db = opened(way.url, statementTimeoutMs)
    await sql`create table things (n integer)`.execute(db)
    way.silence()
    expect(noAnswerOf(await failureOf(sql`select * from things`.execute(db)))).toBe('slow')
    way.mend()
    expect((await sql`select * from things`.execute(db)).rows).toEqual([])
  })
})
