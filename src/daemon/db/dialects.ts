import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import Database from 'better-sqlite3'
import { CompiledQuery, Kysely, PostgresAdapter, PostgresDialect, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import type Pg from 'pg'
import { problem } from '../../core/kit/index.ts'
import { yieldToEventLoop } from './breathe.ts'
import type { Db, DbOrTx, Tables, Tx } from './database.ts'
import { knownByFailure, markFailures } from './no-answer.ts'
import { preparedOnce } from './prepared-once.ts'
import { makeTurns } from './turns.ts'
import { UnpeekedCompiler } from './unpeeked.ts'

// All that differs between SQLite and PostgreSQL stands in this file.

export type DialectName = 'sqlite' | 'postgres'

/** Words told by transactions that committed, whichever process they were of. `ended` resolves when no more will come. */
export type Hearing = Readonly<{ ended: Promise<void>; close(): Promise<void> }>
type Hear = (word: string) => void

const hearings = new WeakMap<Db, (hear: Hear) => Promise<Hearing>>()

/**
 * Hears what `tellOnCommit` tells, until it ends: on PostgreSQL what all replicas tell, on SQLite what this process does. What is told while
 * nobody hears is lost, so it only wakes whoever reads the database anyway.
 */
export const listenForCommits = (db: Db, hear: Hear): Promise<Hearing> => {
  const listen = hearings.get(db)
  if (!listen) throw new Error('only a database that openDatabase opened can be heard')
  return listen(hear)
}

const channel = 'tenantry'

/** Tells a word to those who hear, once the transaction commits; nothing when it does not. The same word twice is told once. */
export async function notifyOnCommit(tx: Tx, word: string): Promise<void> {
  await (dialectOf(tx) === 'postgres' ? sql`select pg_notify(${channel}, ${word})` : sql`select tell_on_commit(${word})`).execute(tx)
}

export type OpenDatabase = Readonly<{ db: Db; dialect: DialectName; close(): Promise<void> }>

/** `longestMs`: what one statement, or a transaction in which nothing is said, may take on PostgreSQL; 0: as long as it takes. */
type Opening = Readonly<{ longestMs?: number }>

/** Opens `sqlite:<file>` (`sqlite::memory:` too) or `postgres://…`. It does not migrate. */
export function openDatabase(url: string, { longestMs = 0 }: Opening = {}): OpenDatabase {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length))
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, longestMs)
  throw problem('CONFIG_INVALID', 'database: give `sqlite:<file>` or `postgres://user@host/name`')
}

/**
 * Transactions take the write lock when they begin. With SQLite's default, one that reads first and then writes fails at once
 * when another process wrote in between; like this it waits its turn.
 */
class ImmediateSqliteDialect extends SqliteDialect {
  readonly #ends: TransactionEnds

  constructor(database: SqliteDatabase, ends: TransactionEnds) {
    super({ database })
    this.#ends = ends
  }

  override createQueryCompiler() {
    return new UnpeekedCompiler()
  }

  override createDriver() {
    const driver = super.createDriver()
    const [commit, rollBack] = [driver.commitTransaction.bind(driver), driver.rollbackTransaction.bind(driver)]
    driver.commitTransaction = async (connection) => {
      await commit(connection)
      this.#ends.committed()
    }
    driver.rollbackTransaction = async (connection) => {
      this.#ends.rolledBack()
      await rollBack(connection)
    }
    driver.beginTransaction = async (connection) => {
      await connection.executeQuery(beginImmediate)
    }
    const [acquire, release] = [driver.acquireConnection.bind(driver), driver.releaseConnection.bind(driver)]
    const turns = makeTurns()
    driver.releaseConnection = async (connection) => {
      await release(connection)
      turns.pass()
    }
    driver.acquireConnection = async () => {
      await turns.take()
      const connection = await acquire()
      await yieldToEventLoop()
      return connection
    }
    return driver
  }
}

const beginImmediate = CompiledQuery.raw('begin immediate')

function openSqlite(file: string): OpenDatabase {
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  // A commit that was answered must survive a power cut: the daemon tells agents to act upon it.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  database.pragma('busy_timeout = 5000')
  const commits = commitsOf(database)
  const db = new Kysely<Tables>({ dialect: new ImmediateSqliteDialect(preparedOnce(database), commits) })
  hearings.set(db, commits.listen)
  return { db, dialect: 'sqlite', close: () => db.destroy() }
}

type TransactionEnds = Readonly<{ committed: () => void; rolledBack: () => void }>

/** One connection has one transaction at a time: what was told since the last one ended belongs to this one. */
function commitsOf(database: Database.Database) {
  const hearers = new Set<Hear>()
  const told = new Set<string>()
  database.function('tell_on_commit', (word) => void told.add(String(word)))
  const committed = () => {
    const words = [...told]
    told.clear()
    for (const word of words) for (const hear of hearers) hear(word)
  }
  const listen = async (hear: Hear): Promise<Hearing> => {
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    hearers.add(hear)
    const close = async () => {
      hearers.delete(hear)
      end()
    }
    return { ended, close }
  }
  return { committed, rolledBack: () => told.clear(), listen }
}

/** The driver is loaded only where it is used: a daemon on SQLite never needs it. */
const driver = (): typeof Pg => createRequire(import.meta.url)('pg')

/** By then a server that is there has said that a statement had its time. */
const graceMs = 5000

const unhurried = new WeakMap<Db, () => OpenDatabase>()

/** For what takes as long as it takes, such as migrations: where statements have a time, it gets a connection of its own. */
export async function withoutHurry<Result>(db: Db, work: (db: Db) => Promise<Result>): Promise<Result> {
  const own = unhurried.get(db)?.()
  try {
    return await work(own?.db ?? db)
  } finally {
    await own?.close()
  }
}

function openPostgres(connectionString: string, longestMs: number): OpenDatabase {
  const pg = driver()
  const pool = new pg.Pool({
    connectionString,
    ...(longestMs > 0 ? { statement_timeout: longestMs, idle_in_transaction_session_timeout: longestMs } : {}),
    max: 10,
    connectionTimeoutMillis: 10_000,
    // int8 (counts, sequences) as numbers: none of ours passes 2^53.
    types: { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as 'text')) },
  })
  pool.on('error', () => undefined) // an idle connection that dies is replaced at the next query
  // One that dies between two statements of a transaction: the next statement fails, and nobody else needs to hear of it.
  pool.on('connect', (client) => {
    client.on('error', () => undefined)
    markFailures(client)
    if (longestMs > 0) giveUpSilence(client, longestMs + graceMs)
  })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: knownByFailure(pool) }) })
  if (longestMs > 0) unhurried.set(db, () => openPostgres(connectionString, 0))
  hearings.set(db, (hear) => listenPostgres(connectionString, hear))
  return { db, dialect: 'postgres', close: () => db.destroy() }
}

/**
 * A server that is gone without a word ends no statement itself, and TCP goes on sending for a quarter of an hour: a database that another machine
 * took over would be there, and nobody here would ask it. Connections that wait for work are closed sooner.
 */
function giveUpSilence(client: Pg.PoolClient, silentMs: number): void {
  const { stream } = (client as unknown as Readonly<{ connection: Readonly<{ stream: Socket }> }>).connection
  stream.setTimeout(silentMs, () => stream.destroy(Object.assign(new Error('the database says nothing'), { code: 'ETIMEDOUT' })))
}

/** Hearing holds a connection of its own: what is told comes at any time. */
async function listenPostgres(connectionString: string, hear: Hear): Promise<Hearing> {
  const client = new (driver().Client)({ connectionString, connectionTimeoutMillis: 10_000, keepAlive: true })
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  client.on('error', () => void client.end().catch(() => undefined))
  client.on('notification', ({ payload }) => hear(payload ?? ''))
  await client.connect()
  await client.query(`listen ${channel}`)
  return { ended, close: () => client.end() }
}

export const dialectOf = (db: DbOrTx): DialectName => (db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite')

/** Locks the row it reads until the transaction ends. SQLite has one writer anyway and no such clause. */
export const forUpdate = (db: DbOrTx) => (dialectOf(db) === 'postgres' ? sql`for update` : sql``)

/** The same for a row that others only point at meanwhile: adding what refers to it does not wait. */
export const forNoKeyUpdate = (db: DbOrTx) => (dialectOf(db) === 'postgres' ? sql`for no key update` : sql``)

/** Skips rows that others have locked, for work queues. */
export const skipLocked = (db: DbOrTx) => (dialectOf(db) === 'postgres' ? sql`for update skip locked` : sql``)

/**
 * Passes a place until the transaction ends: alone, or with all others that share it. For what no row stands for, such as one that is not there
 * yet. SQLite has one writer anyway.
 */
export async function lockExclusive(tx: Tx, place: string): Promise<void> {
  if (dialectOf(tx) === 'postgres') await sql`select pg_advisory_xact_lock(hashtextextended(${place}, 0))`.execute(tx)
}

export async function lockShared(tx: Tx, place: string): Promise<void> {
  if (dialectOf(tx) === 'postgres') await sql`select pg_advisory_xact_lock_shared(hashtextextended(${place}, 0))`.execute(tx)
}

/** Rows in groups small enough for one insert: SQLite takes up to 32,766 values in a statement. */
export const inBatches = <Row>(rows: readonly Row[], size = 500): (readonly Row[])[] =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => rows.slice(n * size, (n + 1) * size))

/** Column type of an id that counts up by itself. */
export const autoIdType = (db: Kysely<unknown>) => (db.getExecutor().adapter instanceof PostgresAdapter ? sql`bigserial` : sql`integer`)

/** True for the failure of a unique constraint, in either dialect. */
export const isUniqueViolation = (error: unknown): boolean => {
  const code = (error as { code?: string } | undefined)?.code
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
