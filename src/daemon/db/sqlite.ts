import { chmodSync, closeSync, openSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { CompiledQuery, Kysely, type SqliteDatabase, SqliteDialect } from 'kysely'
import { type CommitListener, type CommitSubscription, setCommitSource } from './commit-notifications.ts'
import type { Db, Tables } from './database.ts'
import { cacheStatements } from './statement-cache.ts'

/** Opens a SQLite file, or `:memory:`. */
export function openSqlite(file: string): Readonly<{ db: Db; close(): Promise<void> }> {
  if (file !== ':memory:') makePrivate(file)
  const database = new Database(file)
  database.pragma('journal_mode = WAL')
  // An acknowledged commit must survive a power cut: agents act on it.
  database.pragma('synchronous = FULL')
  database.pragma('foreign_keys = ON')
  database.pragma('busy_timeout = 5000')
  const commits = commitSource(database)
  const db = new Kysely<Tables>({ dialect: new ImmediateSqliteDialect(cacheStatements(database), commits) })
  setCommitSource(db, commits.subscribe)
  return { db, close: () => db.destroy() }
}

/** The folder may be open to others. SQLite gives its other files the mode of this one. */
function makePrivate(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
  for (const part of [file, `${file}-wal`, `${file}-shm`]) {
    try {
      chmodSync(part, 0o600)
    } catch (error) {
      // Absent, or it belongs to another user, who decides.
      if (!['ENOENT', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

type TransactionEnds = Readonly<{ onCommit: () => void; onRollback: () => void }>

/**
 * Transactions take the write lock when they begin. With SQLite's default, a transaction that reads before it writes fails when another
 * process wrote in between; this way it waits.
 */
class ImmediateSqliteDialect extends SqliteDialect {
  readonly #ends: TransactionEnds

  constructor(database: SqliteDatabase, ends: TransactionEnds) {
    super({ database })
    this.#ends = ends
  }

  override createDriver() {
    const driver = super.createDriver()
    const commit = driver.commitTransaction.bind(driver)
    const rollback = driver.rollbackTransaction.bind(driver)
    const acquire = driver.acquireConnection.bind(driver)
    driver.beginTransaction = async (connection) => {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'))
    }
    driver.commitTransaction = async (connection) => {
      await commit(connection)
      this.#ends.onCommit()
    }
    driver.rollbackTransaction = async (connection) => {
      this.#ends.onRollback()
      await rollback(connection)
    }
    driver.acquireConnection = async () => {
      const connection = await acquire()
      await yieldToEventLoop()
      return connection
    }
    return driver
  }
}

const maxBusyMs = 10
let yieldedAtMs = 0

/**
 * SQLite answers synchronously, so a thousand agents that poll at once would run statement after statement and delay every HTTP request.
 * Lets other work run between statements, every 10 ms.
 */
async function yieldToEventLoop(): Promise<void> {
  if (performance.now() - yieldedAtMs < maxBusyMs) return
  await setImmediate()
  yieldedAtMs = performance.now()
}

/** The one connection has one transaction at a time, so topics since the last end belong to the current transaction. */
function commitSource(database: Database.Database) {
  const listeners = new Set<CommitListener>()
  const topics = new Set<string>()
  database.function('notify_on_commit', (topic) => void topics.add(String(topic)))
  const onCommit = () => {
    const committed = [...topics]
    topics.clear()
    for (const topic of committed) for (const listener of listeners) listener(topic)
  }
  const subscribe = async (listener: CommitListener): Promise<CommitSubscription> => {
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    listeners.add(listener)
    const close = async () => {
      listeners.delete(listener)
      end()
    }
    return { ended, close }
  }
  return { onCommit, onRollback: () => topics.clear(), subscribe }
}
