import type Database from 'better-sqlite3'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

/** Of each of the two: those said lately, and those said before. */
const keptStatements = 250

/**
 * A daemon says the same few hundred statements over and over, and preparing one costs more than running it. Those used last are kept;
 * a change of the schema forgets them all, because they know their columns.
 */
export function preparedOnce(database: Database.Database): SqliteDatabase {
  let lately = new Map<string, SqliteStatement>()
  let before = new Map<string, SqliteStatement>()
  const prepare = (text: string): SqliteStatement => {
    const known = lately.get(text)
    if (known) return known
    const statement = before.get(text) ?? asked(database.prepare<unknown[], unknown>(text))
    if (/^\s*(create|alter|drop)\b/i.test(text)) {
      lately.clear()
      before.clear()
      return statement
    }
    if (lately.size >= keptStatements) [before, lately] = [lately, new Map()]
    lately.set(text, statement)
    return statement
  }
  return { prepare, close: () => database.close() }
}

type Statement = Database.Statement<unknown[], unknown>

/**
 * Whether it answers rows is asked once: the driver asks at each use. Rows are made of the bare values here: asked for them, SQLite's binding makes
 * the names of the columns anew for every row, which costs as much again as reading it.
 */
function asked(statement: Statement): SqliteStatement {
  const { reader } = statement
  const rowOf = reader ? rowsOf(statement.raw(true)) : (row: unknown) => row
  return {
    reader,
    all: (parameters) => statement.all(parameters).map(rowOf),
    run: (parameters) => statement.run(parameters),
    *iterate(parameters) {
      for (const row of statement.iterate(parameters)) yield rowOf(row)
    },
  }
}

/** What another process has added to a table since shows in how many values there are. */
function rowsOf(statement: Statement): (values: unknown) => unknown {
  const namesNow = () => statement.columns().map(({ name }) => name)
  let names = namesNow()
  return (values) => {
    const all = values as readonly unknown[]
    if (all.length !== names.length) names = namesNow()
    const row: Record<string, unknown> = {}
    for (let at = 0; at < names.length; at++) row[names[at] as string] = all[at]
    return row
  }
}
