import type Database from 'better-sqlite3'
import type { SqliteDatabase, SqliteStatement } from 'kysely'

const maxStatements = 500

/**
 * Keeps the statements that were used last: preparing one costs more than running it, and a daemon runs the same few hundred. SQLite prepares
 * a statement again by itself when the schema changes.
 */
export function cacheStatements(database: Database.Database): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  const prepare = (text: string): SqliteStatement => {
    const statement = statements.get(text) ?? database.prepare<unknown[], unknown>(text)
    // A map iterates in insertion order: the first entry is the one unused for longest.
    statements.delete(text)
    statements.set(text, statement)
    const [oldest] = statements.size > maxStatements ? statements.keys() : []
    if (oldest !== undefined) statements.delete(oldest)
    return statement
  }
  return { prepare, close: () => database.close() }
}
