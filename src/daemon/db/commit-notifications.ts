import type { DatabaseConnection, Driver } from 'kysely'
import type { Db, Tx } from './database.ts'

export type CommitListener = (topic: string) => void

/** `ended` resolves when no more notifications arrive, such as after a lost connection. */
export type CommitSubscription = Readonly<{ ended: Promise<void>; close(): Promise<void> }>
type Subscribe = (listener: CommitListener) => Promise<CommitSubscription>

const sources = new WeakMap<Db, Subscribe>()

/** Called by `openDatabase` for each database. */
export const setCommitSource = (db: Db, subscribe: Subscribe): void => void sources.set(db, subscribe)

/**
 * Receives the topics of `notifyOnCommit`: of all replicas on PostgreSQL, of this process on SQLite. Notifications may be lost, so they only
 * shorten the wait of a listener that also polls.
 */
export function listenForCommits(db: Db, listener: CommitListener): Promise<CommitSubscription> {
  const subscribe = sources.get(db)
  if (!subscribe) throw new Error('the database was not opened by openDatabase')
  return subscribe(listener)
}

/** Topics of the transaction that is open on a connection. */
const pending = new WeakMap<DatabaseConnection, Set<string>>()

/** Notifies listeners of a topic after the transaction has committed; once, however often it is called for a topic. */
export const notifyOnCommit = (tx: Tx, topic: string): Promise<void> =>
  tx.getExecutor().provideConnection(async (connection) => {
    pending.set(connection, (pending.get(connection) ?? new Set()).add(topic))
  })

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
