import { chmodSync, closeSync, openSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { CompiledQuery, Kysely, SqliteAdapter, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type CommitListener, type CommitSubscription, type Publish, publishCommits, setCommitSource } from './commit-notifications.ts'
import type { Db, Tables } from './database.ts'
import { type Connection, openConnection } from './sqlite-driver.ts'

const pragmas = [
  'busy_timeout = 5000',
  'journal_mode = WAL',
  // An acknowledged commit must survive a power cut: agents act on it.
  'synchronous = FULL',
  'foreign_keys = ON',
  // In KiB; the default is 2 MB.
  'cache_size = -16000',
]

/** Opens a SQLite file, or `:memory:`. */
export function openSqlite(file: string): Readonly<{ db: Db; close(): Promise<void> }> {
  if (file !== ':memory:') makePrivate(file)
  const connection = openConnection(file)
  for (const pragma of pragmas) connection.exec(`pragma ${pragma}`)
  const commits = commitSource()
  const db = new Kysely<Tables>({ dialect: new ImmediateSqliteDialect(cacheStatements(connection), commits.publish) })
  setCommitSource(db, commits)
  return { db, close: () => db.destroy() }
}

const maxStatements = 500

/**
 * Keeps the statements that were used last: preparing one costs more than running it, and a daemon runs the same few hundred. A changed
 * schema drops them, also where another process changed it: SQLite would prepare them again by itself, but the names of a `select *` that
 * `node:sqlite` returned before would not change with it.
 */
function cacheStatements(connection: Connection): SqliteDatabase {
  const statements = new LRUCache<string, SqliteStatement>({ max: maxStatements, memoMethod: (text) => connection.prepare(text) })
  const version = connection.prepare('pragma schema_version')
  let preparedFor: number | undefined
  return {
    prepare: (text) => {
      const [{ schema_version: current }] = version.all([]) as [{ schema_version: number }]
      if (current !== preparedFor) {
        statements.clear()
        // Preparing alone does not read a schema that another process changed.
        connection.exec('select 1 from sqlite_schema')
        preparedFor = current
      }
      return statements.memo(text)
    },
    close: () => connection.close(),
  }
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

/**
 * Transactions take the write lock when they begin. With SQLite's default, a transaction that reads before it writes fails when another
 * process wrote in between; this way it waits.
 */
class ImmediateSqliteDialect extends SqliteDialect {
  readonly #publish: Publish

  constructor(database: SqliteDatabase, publish: Publish) {
    super({ database })
    this.#publish = publish
  }

  override createAdapter() {
    return new TransactionalAdapter()
  }

  override createDriver() {
    const driver = publishCommits(super.createDriver(), this.#publish)
    const acquire = driver.acquireConnection.bind(driver)
    driver.beginTransaction = async (connection) => {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'))
    }
    driver.acquireConnection = async () => {
      const connection = await acquire()
      await yieldToEventLoop()
      return connection
    }
    return driver
  }
}

/** Migrations run in one transaction. Kysely does not do so on SQLite by itself, because a migration could not change its pragmas there. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl() {
    return true
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

/** Publishes the topics of a commit to the listeners of this process. */
function commitSource() {
  const listeners = new Set<CommitListener>()
  const publish: Publish = (topics) => {
    for (const topic of topics) for (const listener of listeners) listener(topic)
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
  return { publish, subscribe }
}
