import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { DbOrTx } from './database.ts'
import { type DialectName, dialectOf } from './dialects.ts'
import { say } from './say.ts'

// Building a query and turning it into SQL costs several times what SQLite needs to run it. What the engine of rollouts says for every box, and what
// is appended with every act, is therefore built once per dialect; afterwards only the values change.

/** Stands in the statement where a value of what is given belongs. */
class Place {
  readonly read: (given: never) => unknown
  constructor(read: (given: never) => unknown) {
    this.read = read
  }
}

export type PlaceOf<Given> = <Name extends keyof Given & string>(name: Name) => RawBuilder<Given[Name]>
type Buildable<Row> = Readonly<{ compile(db: DbOrTx): CompiledQuery<Row> }>
type Answer<Row> = Readonly<{ rows: readonly Row[]; changed: bigint }>
type Statement<Given, Row> = (db: DbOrTx, given: Given) => Promise<Answer<Row>>

const placeFor = <Given, Value>(read: (given: Given) => unknown): RawBuilder<Value> => sql<Value>`${new Place(read)}`

/** A statement by its builder, which is asked once: what it decides by anything but the dialect stays so for good. */
export const prepared = <Given extends object, Row>(build: (db: DbOrTx, place: PlaceOf<Given>) => Buildable<Row>): Statement<Given, Row> =>
  builtOnce((db) => build(db, (name) => placeFor((given: Given) => given[name])))

function builtOnce<Given, Row>(build: (db: DbOrTx) => Buildable<Row>): Statement<Given, Row> {
  const compiled: Partial<Record<DialectName, CompiledQuery<Row>>> = {}
  return async (db, given) => {
    const dialect = dialectOf(db)
    const known = compiled[dialect] ?? build(db).compile(db)
    compiled[dialect] = known
    const { sql: text, query, queryId, parameters: places } = asPlugged(db, known)
    const parameters = places.map((one) => (one instanceof Place ? one.read(given as never) : one))
    const { rows, numAffectedRows = 0n } = await say<Row>(db, { sql: text, query, queryId, parameters })
    return { rows, changed: numAffectedRows }
  }
}

/** Plugins of the database see every statement, each time it is said: whoever counts or changes statements misses none. */
function asPlugged<Row>(db: DbOrTx, query: CompiledQuery<Row>): CompiledQuery<Row> {
  const executor = db.getExecutor()
  if (executor.plugins.length === 0) return query
  const node = executor.transformQuery(query.query, query.queryId)
  return node === query.query ? query : executor.compileQuery<Row>(node, query.queryId)
}

/** A place for each column of a row, under its name. */
export const placesFor = <Given extends object, Name extends keyof Given & string>(
  place: PlaceOf<Given>,
  columns: readonly Name[],
): { [Column in Name]: RawBuilder<Given[Column]> } =>
  Object.fromEntries(columns.map((column) => [column, place(column)])) as { [Column in Name]: RawBuilder<Given[Column]> }

/** One statement for each shape that is asked for: so many ids, or those columns. Shapes must be few. */
export function preparedFor<Shape extends string | number, Made>(make: (shape: Shape) => Made): (shape: Shape) => Made {
  const made = new Map<Shape, Made>()
  return (shape) => {
    const known = made.get(shape) ?? make(shape)
    made.set(shape, known)
    return known
  }
}

const numbers = (size: number) => Array.from({ length: size }, (_, at) => at)

type PlacesOf<Row> = { [Column in keyof Row & string]: RawBuilder<Row[Column]> }

const rowsAtOnce = 16

/**
 * A statement about rows of these columns, one after the other in their order: as many as there are, up to some per statement. Answers what all
 * of them answer.
 */
export function preparedRows<Row extends object, Answered = unknown>(
  columns: readonly (keyof Row & string)[],
  build: (db: DbOrTx, rows: readonly PlacesOf<Row>[]) => Buildable<Answered>,
): (db: DbOrTx, rows: readonly Row[]) => Promise<readonly Answered[]> {
  type Rows = readonly Row[]
  const placesAt = (at: number) =>
    Object.fromEntries(columns.map((column) => [column, placeFor((rows: Rows) => rows[at]?.[column])])) as PlacesOf<Row>
  const ofSize = preparedFor((size: number) => builtOnce<Rows, Answered>((db) => build(db, numbers(size).map(placesAt))))
  return async (db, rows) => {
    if (rows.length <= rowsAtOnce) return rows.length === 0 ? [] : (await ofSize(rows.length)(db, rows)).rows
    const answered: Answered[] = []
    for (let from = 0; from < rows.length; from += rowsAtOnce) {
      const some = rows.slice(from, from + rowsAtOnce)
      answered.push(...(await ofSize(some.length)(db, some)).rows)
    }
    return answered
  }
}

/**
 * A statement about a list of any length that is not empty: its places hold the next power of two, the last value repeated, so that a few
 * statements do for all lengths.
 */
export function preparedList<Value, Row>(
  build: (db: DbOrTx, places: readonly RawBuilder<Value>[]) => Buildable<Row>,
): (db: DbOrTx, values: readonly Value[]) => Promise<readonly Row[]> {
  type Values = readonly Value[]
  const placeAt = (at: number) => placeFor<Values, Value>((values) => values[Math.min(at, values.length - 1)])
  const ofSize = preparedFor((size: number) => builtOnce<Values, Row>((db) => build(db, numbers(size).map(placeAt))))
  return async (db, values) => (await ofSize(2 ** Math.ceil(Math.log2(values.length)))(db, values)).rows
}
