import { sql } from 'kysely'
import type { Db, Tx } from './database.ts'
import { dialectOf } from './dialects.ts'

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

/** The one channel of PostgreSQL's `notify`; the topic is the payload. */
export const commitChannel = 'tenantry'

/** Notifies listeners of a topic when the transaction commits; once, however often it is called for a topic. */
export async function notifyOnCommit(tx: Tx, topic: string): Promise<void> {
  const notify = dialectOf(tx) === 'postgres' ? sql`select pg_notify(${commitChannel}, ${topic})` : sql`select notify_on_commit(${topic})`
  await notify.execute(tx)
}
