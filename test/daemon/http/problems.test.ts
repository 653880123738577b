import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { problem } from '../../../src/core/kit/index.ts'
import { openDatabase } from '../../../src/daemon/db/index.ts'
import { asProblem } from '../../../src/daemon/http/problems.ts'
import { createPostgresDatabase } from '../../support/databases.ts'
import { freePort } from '../../support/free-port.ts'
import { wayTo } from '../../support/way-to-server.ts'

const failure = (facts: object) => Object.assign(new Error('as it was said inside'), facts)

test.each([
  ['a deadlock that PostgreSQL ended', { code: '40P01' }, 'UNAVAILABLE', true],
  ['a transaction that could not be put in line', { code: '40001' }, 'UNAVAILABLE', true],
  ['a SQLite file that another process writes to', { code: 'SQLITE_BUSY' }, 'UNAVAILABLE', true],
  ['a statement that took too long', { code: '57014' }, 'UNAVAILABLE', true],
  ['a transaction that rested too long', { code: '25P03' }, 'UNAVAILABLE', true],
  ['a PostgreSQL that shuts down', { code: '57P01' }, 'UNAVAILABLE', true],
  ['a PostgreSQL that is only read from', { code: '25006' }, 'UNAVAILABLE', true],
  ['a service of somebody else that nobody listens for', { code: 'ECONNREFUSED' }, 'INTERNAL', false],
  ['a connection to somebody else that broke', { message: 'Connection terminated unexpectedly' }, 'INTERNAL', false],
  ['a row that is there already, which nobody foresaw', { code: '23505' }, 'INTERNAL', false],
  ['a fault of the program', {}, 'INTERNAL', false],
  ['a body that is no JSON', { type: 'entity.parse.failed', status: 400 }, 'BAD_JSON', false],
] as const)('%s is answered as what it is, without its own words', (_, facts, code, retryable) => {
  const found = asProblem(failure(facts))
  expect(found).toMatchObject({ code, retryable })
  expect(JSON.stringify(found.toBody())).not.toContain('inside')
})

test('a database that nobody listens for is answered as that', async () => {
  const { db, close } = openDatabase(`postgres://nobody@127.0.0.1:${await freePort()}/none`)
  onTestFinished(close)
  const found = asProblem(await sql`select 1`.execute(db).catch((error: unknown) => error))
  expect(found).toMatchObject({ code: 'UNAVAILABLE', retryable: true, cause: { code: 'ECONNREFUSED' } })
})

test('so is one whose connection breaks under a statement, and what the statement itself is wrong in is not', async () => {
  const way = await wayTo(await createPostgresDatabase())
  const { db, close } = openDatabase(way.url)
  onTestFinished(async () => {
    await close()
    way.close()
  })
  expect(asProblem(await sql`select wrong`.execute(db).catch((error: unknown) => error))).toMatchObject({ code: 'INTERNAL' })
  const cut = db.transaction().execute(async (tx) => {
    const sleeping = sql`select pg_sleep(60)`.execute(tx)
    way.cut()
    await sleeping
  })
  expect(asProblem(await cut.catch((error: unknown) => error))).toMatchObject({ code: 'UNAVAILABLE', retryable: true })
})

test('a problem stays itself', () => {
  const one = problem('NOT_FOUND', 'there is no such box')
  expect(asProblem(one)).toBe(one)
})
