import { randomBytes } from 'node:crypto'
import { copyFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, inject } from 'vitest'
import { type Db, migrate, openDatabase } from '../../src/daemon/db/index.ts'
import { isOfChangedFeature } from './changed-areas.ts'
import { migratedDatabase } from './postgres-server.ts'
import { giveBack, recordNew, takeSpare } from './spare-databases.ts'

type Opened = { db: Db; url: string }

/** Opens an empty, migrated database of the dialect; the caller closes it with `db.destroy()`. */
export async function emptyDatabase(dialect: 'sqlite' | 'postgres'): Promise<Opened> {
  const url =
    dialect === 'sqlite' ? await copyOfSqlite() : await postgresDatabase(sql` template ${sql.id(migratedDatabase)} strategy file_copy`)
  return { db: openDatabase(url).db, url }
}

/** Like `emptyDatabase` on PostgreSQL; may reuse a database that was reset. */
export async function usableDatabase(): Promise<Opened> {
  const spare = await takeSpare()
  if (spare) return spare
  const made = await emptyDatabase('postgres')
  await recordNew(made.db, rowsOfPostgres)
  return made
}

const rowsOfPostgres = async (db: Db): Promise<string[]> => {
  const tables = await sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public' order by 1`.execute(db)
  return (await Promise.all(tables.rows.map(({ name }) => insertsInto(db, name)))).flat()
}

/** An empty PostgreSQL database without tables; returns its URL. */
export const createPostgresDatabase = (): Promise<string> => postgresDatabase(sql``)

let postgresUrl: Promise<string> | undefined

/** Starts the server of the test run where it is the first to ask. */
async function askForPostgres(): Promise<string> {
  const answer = await fetch(inject('postgresAt'))
  if (!answer.ok) throw new Error(`PostgreSQL did not start: ${await answer.text()}`)
  return answer.text()
}

async function postgresDatabase(from: RawBuilder<unknown>): Promise<string> {
  postgresUrl ??= askForPostgres()
  const url = await postgresUrl
  const admin = openDatabase(url)
  const name = `t_${randomBytes(8).toString('hex')}`
  await sql`create database ${sql.id(name)}${from}`.execute(admin.db)
  await admin.close()
  return url.replace(/\/postgres$/, `/${name}`)
}

let template: Promise<string> | undefined

async function copyOfSqlite(): Promise<string> {
  template ??= migratedSqlite()
  const file = join(tmpdir(), `${randomBytes(8).toString('hex')}.db`)
  await copyFile(await template, file)
  return `sqlite:${file}`
}

const deleteSqlite = (url: string): Promise<void> => rm(url.replace('sqlite:', ''), { force: true })

/** A file after all migrations: running them would cost each test more than the test itself. */
async function migratedSqlite(): Promise<string> {
  const file = join(tmpdir(), `migrated-${process.pid}.db`)
  const { db, close } = openDatabase(`sqlite:${file}`)
  await migrate(db)
  await close()
  return file
}

async function insertsInto(db: Db, table: string): Promise<string[]> {
  const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(table)}`.execute(db)
  return rows.map((row) => `insert into "${table}" values (${Object.values(row).map(literal).join(', ')})`)
}

function literal(value: unknown): string {
  if (value === null || typeof value === 'number') return String(value)
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`
  throw new Error(`a migration wrote ${typeof value}`)
}

/** Waits for one turn on the database connection, so that earlier waiters have had theirs. */
export async function askInTurn(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
  await yieldToEventLoop()
}

/** A database that runs a hook right before the first transaction. */
export function inBetween(db: Db, happens: () => Promise<unknown>): Db {
  let happened: Promise<unknown> | undefined
  const transaction = () => ({
    execute: async (work: Parameters<ReturnType<Db['transaction']>['execute']>[0]) => {
      happened ??= happens()
      await happened
      return db.transaction().execute(work)
    },
  })
  return new Proxy(db, {
    get: (of, key) => {
      if (key === 'transaction') return transaction
      const value = Reflect.get(of, key)
      return typeof value === 'function' ? value.bind(of) : value
    },
  })
}

/** PostgreSQL only where everything is tested (vitest.config.ts): there, a test takes eight times as much of the processor. */
export const testedDialects = () =>
  process.env.TENANTRY_TESTS === 'all' && isOfChangedFeature(expect.getState().testPath ?? '', process.env.CHANGED_AREAS)
    ? (['sqlite', 'postgres'] as const)
    : (['sqlite'] as const)

/** Runs a contract suite once on SQLite and once on PostgreSQL; `fresh()` gives each test an empty, migrated database. */
export function onBothDialects(title: string, suite: (fresh: () => Promise<Db>, dialect: 'sqlite' | 'postgres') => void): void {
  for (const dialect of testedDialects()) {
    describe(`${title} (${dialect})`, () => {
      // Registered first, so it runs last: a database opened in a test is closed after all that uses it, and serves the next test.
      const scopes: Opened[][] = [[]]
      const close = async () => {
        const opened = scopes.pop() ?? []
        await Promise.all(opened.map(({ db }) => db.destroy()))
        for (const { url } of opened) dialect === 'postgres' ? giveBack(url) : await deleteSqlite(url)
      }
      beforeEach(({ onTestFinished }) => {
        scopes.push([])
        onTestFinished(close)
      })
      afterAll(close)
      suite(async () => {
        const one = dialect === 'sqlite' ? await emptyDatabase(dialect) : await usableDatabase()
        scopes.at(-1)?.push(one)
        return one.db
      }, dialect)
    })
  }
}
