import { CompiledQuery, type DatabaseConnection, type QueryResult } from 'kysely'
import type { Db, DbOrTx } from './database.ts'
import { dialectOf } from './dialects.ts'

// Between whoever says a statement and SQLite, which answers at once, Kysely puts a queue for the connection and half a dozen promises. In a
// transaction, or on a connection that one look has to itself, nobody else can come between, so that the statement goes straight to it.

/** What has a connection for itself, with it once it was asked for. */
const own = new WeakMap<DbOrTx, DatabaseConnection | undefined>()

/**
 * Several looks one after the other on one connection: it is waited for once. `look` must use nothing but what it is given, write nothing, and
 * `breathe` where statements may be many.
 */
export const onOneConnection = <Seen>(db: Db, look: (db: DbOrTx) => Promise<Seen>): Promise<Seen> =>
  db.connection().execute((one) => {
    own.set(one, undefined)
    return asOfOneMoment(one, look)
  })

/** SQLite takes its locks, and looks for what others wrote, once for all of it and not for each statement. */
async function asOfOneMoment<Seen>(one: Db, look: (db: DbOrTx) => Promise<Seen>): Promise<Seen> {
  const connection = await ownOf(one)
  if (!connection) return look(one)
  await connection.executeQuery(begin)
  try {
    const seen = await look(one)
    await connection.executeQuery(commit)
    return seen
  } catch (error) {
    await quietly(() => connection.executeQuery(rollBack))
    throw error
  }
}

/** SQLite may have broken it off itself. */
const quietly = async (work: () => Promise<unknown>) =>
  void (await Promise.resolve()
    .then(work)
    .catch(() => undefined))

const begin = CompiledQuery.raw('begin')
const commit = CompiledQuery.raw('commit')
const rollBack = CompiledQuery.raw('rollback')

/** Says a compiled statement. Where plugins want to see what is answered, or others may wait for the same connection, it goes the long way. */
export function say<Row>(db: DbOrTx, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  const connection = own.get(db)
  return connection ? connection.executeQuery<Row>(query) : sayFirst(db, query)
}

async function sayFirst<Row>(db: DbOrTx, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  const connection = await ownOf(db)
  return connection ? connection.executeQuery<Row>(query) : db.executeQuery<Row>(query)
}

async function ownOf(db: DbOrTx): Promise<DatabaseConnection | undefined> {
  const executor = db.getExecutor()
  const isAlone = (db.isTransaction || own.has(db)) && executor.plugins.length === 0 && dialectOf(db) === 'sqlite'
  if (!isAlone) return undefined
  const connection = await executor.provideConnection(async (one) => one)
  own.set(db, connection)
  return connection
}
