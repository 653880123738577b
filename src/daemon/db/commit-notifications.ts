import type { DatabaseConnection, Driver } from 'kysely'
import type { Db, DbOrTx } from './database.ts'

export type CommitListener = (topic: string) => void

/** `ended` resolves when no more notifications arrive, such as after a lost connection. */
export type CommitSubscription = Readonly<{ ended: Promise<void>; close(): Promise<void> }>
type Subscribe = (listener: CommitListener) => Promise<CommitSubscription>

type Commits = Readonly<{ subscribe: Subscribe; publish: Publish }>

/** By the adapter, which a database shares with its transactions and copies. */
const sources = new WeakMap<object, Commits>()
const keyOf = (db: DbOrTx): object => db.getExecutor().adapter

/** Called by `openDatabase` for each database. */
export const setCommitSource = (db: Db, commits: Commits): void => void sources.set(keyOf(db), commits)

/**
 * Receives the topics of `notifyOnCommit`: of all replicas on PostgreSQL, of this process on SQLite. Notifications may be lost, so they only
 * shorten the wait of a listener that also polls.
 */
export function listenForCommits(db: Db, listener: CommitListener): Promise<CommitSubscription> {
  return sourceOf(db).subscribe(listener)
}

function sourceOf(db: DbOrTx): Commits {
  const commits = sources.get(keyOf(db))
  if (!commits) throw new Error('the database was not opened by openDatabase')
  return commits
}

/** Topics of the transaction that is open on a connection. */
const pending = new WeakMap<DatabaseConnection, Set<string>>()

/**
 * Notifies listeners of a topic after the transaction has committed; once, however often it is called for a topic. Outside a transaction the
 * statement before it has committed, so they are notified now.
 */
export async function notifyOnCommit(db: DbOrTx, topic: string): Promise<void> {
  if (!db.isTransaction) sourceOf(db).publish([topic])
  else
    await db.getExecutor().provideConnection(async (connection) => {
      pending.set(connection, (pending.get(connection) ?? new Set()).add(topic))
    })
}

export type Publish = (topics: readonly string[]) => void

/** Makes the driver publish the topics of each transaction that commits, after the commit. */
export function publishCommits(driver: Driver, publish: Publish): Driver {
  const commit = driver.commitTransaction.bind(driver)
  const rollback = driver.rollbackTransaction.bind(driver)
  driver.commitTransaction = async (connection) => {
    const topics = takeTopics(connection)
    await commit(connection)
    publish(topics)
  }
  driver.rollbackTransaction = async (connection) => {
    takeTopics(connection)
    await rollback(connection)
  }
  return driver
}

function takeTopics(connection: DatabaseConnection): readonly string[] {
  const topics = [...(pending.get(connection) ?? [])]
  pending.delete(connection)
  return topics
}
