import { CompiledQuery, type Selectable } from 'kysely'
import type { DbOrTx, Tables } from './database.ts'
import { dialectOf } from './dialects.ts'
import { preparedStatement } from './prepared-statements.ts'

type ByKey<Table extends keyof Tables> = Readonly<{
  table: Table
  columns: readonly (keyof Tables[Table] & string)[]
  /** The columns of a key with their values. */
  where: Readonly<Partial<Record<keyof Tables[Table] & string, string | number>>>
  /** Until the transaction ends; `skip`: no row if another transaction has locked it. */
  lock?: 'wait' | 'skip'
}>

const lockClauses = { wait: ' for update', skip: ' for update skip locked' }

/** One row by its key, in a prepared statement: for steps that run often. */
export async function readRow<Table extends keyof Tables>(
  db: DbOrTx,
  { table, columns, where, lock }: ByKey<Table>,
): Promise<Selectable<Tables[Table]> | undefined> {
  const isPostgres = dialectOf(db) === 'postgres'
  const conditions = Object.keys(where).map((column, n) => `"${column}" = ${isPostgres ? `$${n + 1}` : '?'}`)
  const locked = isPostgres && lock ? lockClauses[lock] : ''
  const text = `select ${columns.map((column) => `"${column}"`).join(', ')} from "${table}" where ${conditions.join(' and ')}${locked}`
  const query = CompiledQuery.raw(isPostgres ? preparedStatement(text) : text, Object.values(where))
  return (await db.executeQuery<Selectable<Tables[Table]>>(query)).rows[0]
}
