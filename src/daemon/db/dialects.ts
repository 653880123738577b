import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'
import type { DbOrTx, Tx } from './database.ts'

// SQL that differs between SQLite and PostgreSQL. How each is opened: sqlite.ts and postgres.ts.

export type DialectName = 'sqlite' | 'postgres'

export const dialectOf = (db: Pick<DbOrTx, 'getExecutor'>): DialectName =>
  db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'

/** Locks the selected rows until the transaction ends. SQLite has one writer, so it needs no clause. */
export const forUpdate = (db: DbOrTx) => (dialectOf(db) === 'postgres' ? sql`for update` : sql``)

/** Like `forUpdate`, but inserting rows that reference the locked row does not wait. */
export const forNoKeyUpdate = (db: DbOrTx) => (dialectOf(db) === 'postgres' ? sql`for no key update` : sql``)

/** Locks rows and skips those that another transaction has locked, for work queues. `table`: of a join, the one to lock. */
export const skipLocked = (db: DbOrTx, table?: string) => {
  if (dialectOf(db) !== 'postgres') return sql``
  return table === undefined ? sql`for update skip locked` : sql`for update of ${sql.ref(table)} skip locked`
}

/** Locks a name until the transaction ends, where no row can be locked, such as one that does not exist yet. */
export async function lockExclusive(tx: Tx, name: string): Promise<void> {
  if (dialectOf(tx) === 'postgres') await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx)
}

/** Like `lockExclusive`, but waits for exclusive locks only. */
export async function lockShared(tx: Tx, name: string): Promise<void> {
  if (dialectOf(tx) === 'postgres') await sql`select pg_advisory_xact_lock_shared(hashtextextended(${name}, 0))`.execute(tx)
}

/** Substring search in a column; `%`, `_` and `\` in the text are literal. */
export const contains = (column: string, text: string): RawBuilder<boolean> =>
  sql<boolean>`${sql.ref(column)} like ${`%${text.replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`

type JsonKey = Readonly<{ column: string; key: string }>

/**
 * True if the array under a key of the JSON object in a column has one of the texts. Compares exactly, unlike `contains`, which refuses most rows
 * first: it takes a tenth of the time.
 */
export function jsonArrayHas(db: DbOrTx, { column, key }: JsonKey, texts: readonly string[]): RawBuilder<boolean> {
  const from = sql.ref(column)
  const elements =
    dialectOf(db) === 'postgres' ? sql`json_array_elements_text(${from}::json -> ${sql.lit(key)})` : sql`json_each(${from}, ${`$.${key}`})`
  const mayHave = sql.join(
    texts.map((text) => contains(column, JSON.stringify(text))),
    sql` or `,
  )
  return sql<boolean>`((${mayHave}) and exists (select 1 from ${elements} as value where value in (${sql.join(texts)})))`
}

/** The text under a key of the JSON object in a column. */
export const jsonText = (db: DbOrTx, { column, key }: JsonKey): RawBuilder<string | null> =>
  dialectOf(db) === 'postgres' ? sql`${sql.ref(column)}::json ->> ${sql.lit(key)}` : sql`json_extract(${sql.ref(column)}, ${`$.${key}`})`

/** Deletes at most `limit` rows in one statement and returns their number, so that a long deletion holds locks only briefly. */
export async function deleteSome(
  db: DbOrTx,
  { table, where, limit }: Readonly<{ table: string; where: RawBuilder<unknown>; limit: number }>,
) {
  const place = sql.raw(dialectOf(db) === 'postgres' ? 'ctid' : 'rowid')
  const from = sql.table(table)
  const { rows } = await sql`delete from ${from} where ${place} in (select ${place} from ${from} where ${where} limit ${limit})
    returning 1`.execute(db)
  return rows.length
}

const rowsAtOnce = 500

/** Deletes all rows of a condition by `deleteSome`, until none is left or the signal aborts. Returns their number. */
export async function deleteInBatches(
  db: DbOrTx,
  { table, where, signal }: Readonly<{ table: string; where: RawBuilder<unknown>; signal: AbortSignal }>,
): Promise<number> {
  let deleted = 0
  for (let last = rowsAtOnce; last === rowsAtOnce && !signal.aborted; deleted += last)
    last = await deleteSome(db, { table, where, limit: rowsAtOnce })
  return deleted
}

/** Rows in groups small enough for one insert: SQLite takes up to 32,766 values in a statement. */
export const inBatches = <Row>(rows: readonly Row[], size = 500): (readonly Row[])[] =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => rows.slice(n * size, (n + 1) * size))

/** Column type of an auto-incremented id. */
export const autoIdType = (db: Kysely<unknown>) => (db.getExecutor().adapter instanceof PostgresAdapter ? sql`bigserial` : sql`integer`)

export const isUniqueViolation = (error: unknown): boolean => {
  const code = (error as { code?: string } | undefined)?.code
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
