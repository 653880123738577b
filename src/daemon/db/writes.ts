import { CompiledQuery, type Insertable, type Updateable } from 'kysely'
import type { DbOrTx, Tables } from './database.ts'
import { type DialectName, dialectOf } from './dialects.ts'
import { preparedStatement } from './prepared-statements.ts'

/** Adds a value to the statement and returns its placeholder. */
type Bind = (value: unknown) => string

/** A statement that changes rows. On PostgreSQL others of the same call refer to its rows by `name`, and run after it if they do. */
export type Write = Readonly<{ name?: string; text: (bind: Bind, dialect: DialectName) => string }>

/**
 * Sends writes together and returns the rows of the last one. On PostgreSQL they are one statement, whose writes do not see each other: no two
 * may change the same row; outside a transaction it is one of its own. On SQLite they run in order, and always in a transaction.
 */
export async function executeWrites(db: DbOrTx, writes: readonly Write[]): Promise<readonly unknown[]> {
  if (dialectOf(db) === 'postgres') return execute(db, 'postgres', (bind) => inOneStatement(writes, bind))
  if (!db.isTransaction) throw new Error('writes on SQLite need a transaction')
  let rows: readonly unknown[] = []
  for (const write of writes) rows = await execute(db, 'sqlite', (bind) => write.text(bind, 'sqlite'))
  return rows
}

async function execute(db: DbOrTx, dialect: DialectName, textOf: (bind: Bind) => string): Promise<readonly unknown[]> {
  const values: unknown[] = []
  const text = textOf((value) => {
    values.push(value)
    return dialect === 'postgres' ? `$${values.length}` : '?'
  })
  const { rows } = await db.executeQuery(CompiledQuery.raw(dialect === 'postgres' ? preparedStatement(text) : text, values))
  return rows
}

function inOneStatement(writes: readonly Write[], bind: Bind): string {
  const texts = writes.map((write) => write.text(bind, 'postgres'))
  const before = texts.slice(0, -1).map((text, n) => `${writes[n]?.name ?? `write_${n}`} as (${text})`)
  return `${before.length > 0 ? `with ${before.join(', ')} ` : ''}${texts.at(-1)}`
}

/** Inserts at least one row; all have the same columns. */
export const insertRows = <Table extends keyof Tables>(table: Table, rows: readonly Insertable<Tables[Table]>[]): Write => ({
  text: (bind) => {
    const columns = Object.keys(rows[0] ?? {})
    const tuples = rows.map((row) => `(${columns.map((column) => bind((row as Record<string, unknown>)[column])).join(', ')})`)
    return `insert into "${table}" (${columns.map((column) => `"${column}"`).join(', ')}) values ${tuples.join(', ')}`
  },
})

/** Changes the rows whose columns have the values of `where`. */
export const updateRows = <Table extends keyof Tables>(
  table: Table,
  where: Updateable<Tables[Table]>,
  set: Updateable<Tables[Table]>,
): Write => ({ text: (bind) => `update "${table}" set ${pairs(set, bind).join(', ')} where ${pairs(where, bind).join(' and ')}` })

/** Deletes the rows whose columns have the values of `where`. */
export const deleteRows = <Table extends keyof Tables>(table: Table, where: Updateable<Tables[Table]>): Write => ({
  text: (bind) => `delete from "${table}" where ${pairs(where, bind).join(' and ')}`,
})

const pairs = (values: object, bind: Bind): string[] => Object.entries(values).map(([column, value]) => `"${column}" = ${bind(value)}`)
