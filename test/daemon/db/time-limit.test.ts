import { connect, createServer, type Socket } from 'node:net'
import { type Kysely, sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Db, migrate, noAnswerOf, openDatabase } from '../../../src/daemon/db/index.ts'
import { createPostgresDatabase } from '../../support/databases.ts'
import { freePort } from '../../support/free-port.ts'

const longestMs = 400
const seconds = (n: number) => sql`select pg_sleep(${sql.lit(n)})`

function opened(url: string, longestMs: number): Db {
  const { db, close } = openDatabase(url, { longestMs })
  onTestFinished(close)
  return db
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it went through'),
    (error: unknown) => error,
  )

describe('on PostgreSQL', () => {
  test('a statement that takes longer is ended, and the connection goes on', async () => {
    const db = opened(await createPostgresDatabase(), longestMs)
    expect(noAnswerOf(await failureOf(seconds(5).execute(db)))).toBe('slow')
    expect((await sql<{ n: number }>`select 1 as n`.execute(db)).rows).toEqual([{ n: 1 }])
  })

  test('so is one that waits for what another transaction holds', async () => {
    const url = await createPostgresDatabase()
    const [db, holding] = [opened(url, longestMs), opened(url, 0)]
    await sql`create table things (n integer)`.execute(db)
    await holding.transaction().execute(async (tx) => {
      await sql`lock table things`.execute(tx)
      expect(noAnswerOf(await failureOf(sql`select * from things`.execute(db)))).toBe('slow')
    })
    expect((await sql`select * from things`.execute(db)).rows).toEqual([])
  })

  test('a transaction that rests longer is ended, and what it held is free: a daemon that stands still stops no other', async () => {
    const url = await createPostgresDatabase()
    const [still, other] = [opened(url, longestMs), opened(url, 30_000)]
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

  test('a migration takes as long as it takes', async () => {
    const db = opened(await createPostgresDatabase(), longestMs)
    const up = async (own: Kysely<unknown>) => void (await seconds((3 * longestMs) / 1000).execute(own))
    await migrate(db, [{ name: '0001-long', up }])
    expect((await sql<{ name: string }>`select name from schema_migrations`.execute(db)).rows).toEqual([{ name: '0001-long' }])
  })

  test('without a limit nothing is ended', async () => {
    const db = opened(await createPostgresDatabase(), 0)
    await seconds((3 * longestMs) / 1000).execute(db)
  })

  test('a server that is gone without a word is given up after twice the time, and asked for anew', async () => {
    const way = await aWayTo(await createPostgresDatabase())
    const db = opened(way.url, longestMs)
    await sql`create table things (n integer)`.execute(db)
    way.cut()
    expect(noAnswerOf(await failureOf(sql`select * from things`.execute(db)))).toBe('slow')
    way.mend()
    expect((await sql`select * from things`.execute(db)).rows).toEqual([])
  })
})

/** A way to the server on which, once it is cut, nothing arrives any more, though it stays open at both ends. */
async function aWayTo(url: string) {
  const to = new URL(url)
  const open: Socket[] = []
  let isCut = false
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname)
    open.push(near, far)
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (bytes) => isCut || other.write(bytes))
      from.on('error', () => undefined)
      from.on('close', () => isCut || other.destroy())
    }
  })
  const port = await freePort()
  await new Promise<void>((ready) => server.listen(port, '127.0.0.1', ready))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const way = new URL(url)
  way.host = `127.0.0.1:${port}`
  const cut = () => {
    isCut = true
  }
  const mend = () => {
    for (const socket of open.splice(0)) socket.removeAllListeners('data').removeAllListeners('close')
    isCut = false
  }
  return { url: way.href, cut, mend }
}
