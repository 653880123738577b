import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { DbOrTx } from './database.ts'
import { type DialectName, dialectOf } from './dialects.ts'

// Building a query and turning it into SQL costs several times what SQLite needs to run it. What the engine of rollouts says for every box, and what
// is appended with every act, is therefore built once per dialect; afterwards only the values change.

/** Stands in the statement where the value of that name belongs. */
class Place {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

type PlaceOf<Given> = <Name extends keyof Given & string>(name: Name) => RawBuilder<Given[Name]>
type Buildable<Row> = Readonly<{ compile(db: DbOrTx): CompiledQuery<Row> }>
type Answer<Row> = Readonly<{ rows: readonly Row[]; changed: bigint }>

/** A statement by its builder, which is asked once: what it decides by anything but the dialect stays so for good. */
export function prepared<Given extends object, Row>(
  build: (db: DbOrTx, place: PlaceOf<Given>) => Buildable<Row>,
): (db: DbOrTx, given: Given) => Promise<Answer<Row>> {
  const compiled: Partial<Record<DialectName, CompiledQuery<Row>>> = {}
  return async (db, given) => {
    const dialect = dialectOf(db)
    const known = compiled[dialect] ?? build(db, (name) => sql`${new Place(name)}`).compile(db)
    compiled[dialect] = known
    const query = asPlugged(db, known)
    const values = given as Readonly<Record<string, unknown>>
    const parameters = query.parameters.map((one) => (one instanceof Place ? values[one.name] : one))
    const { rows, numAffectedRows = 0n } = await db.executeQuery<Row>({ ...query, parameters })
    return { rows, changed: numAffectedRows }
  }
}

/** Plugins of the database see every statement, each time it is said: whoever counts or changes statements misses none. */
function asPlugged<Row>(db: DbOrTx, query: CompiledQuery<Row>): CompiledQuery<Row> {
  const executor = db.getExecutor()
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
export function preparedFor<Shape extends string | number, Statement>(make: (shape: Shape) => Statement): (shape: Shape) => Statement {
  const made = new Map<Shape, Statement>()
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
  type Flat = Record<string, unknown>
  const names = numbers(rowsAtOnce).map((at) => columns.map((column) => [column, `${column}.${at}`] as const))
  const placesAt = (place: PlaceOf<Flat>, at: number) =>
    Object.fromEntries((names[at] ?? []).map(([column, name]) => [column, place(name)])) as PlacesOf<Row>
  const ofSize = preparedFor((size: number) =>
    prepared<Flat, Answered>((db, place) =>
      build(
        db,
        numbers(size).map((at) => placesAt(place, at)),
      ),
    ),
  )
  return async (db, rows) => {
    const answered: Answered[] = []
    for (let from = 0; from < rows.length; from += rowsAtOnce) {
      const some = rows.slice(from, from + rowsAtOnce)
      const given: Flat = {}
      for (const [at, row] of some.entries()) for (const [column, name] of names[at] ?? []) given[name] = row[column]
      answered.push(...(await ofSize(some.length)(db, given)).rows)
    }
    return answered
  }
}

type Listed<Value> = Readonly<Record<`at${number}`, Value>>

/**
 * A statement about a list of any length that is not empty: its places hold the next power of two, the last value repeated, so that a few
 * statements do for all lengths.
 */
export function preparedList<Value, Row>(
  build: (db: DbOrTx, places: readonly RawBuilder<Value>[]) => Buildable<Row>,
): (db: DbOrTx, values: readonly Value[]) => Promise<readonly Row[]> {
  const ofSize = preparedFor((size: number) =>
    prepared<Listed<Value>, Row>((db, place) =>
      build(
        db,
        numbers(size).map((at) => place(`at${at}`)),
      ),
    ),
  )
  return async (db, values) => {
    const size = 2 ** Math.ceil(Math.log2(values.length))
    const given = Object.fromEntries(numbers(size).map((at) => [`at${at}`, values[Math.min(at, values.length - 1)]]))
    return (await ofSize(size)(db, given as Listed<Value>)).rows
  }
}
