import type Database from 'better-sqlite3'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { LRUCache } from 'lru-cache'

const maxStatements = 500

/**
 * Keeps the statements that were used last: preparing one costs more than running it, and a daemon runs the same few hundred. SQLite prepares
 * a statement again by itself when the schema changes.
 */
export function cacheStatements(database: Database.Database): SqliteDatabase {
  const statements = new LRUCache<string, SqliteStatement>({
    max: maxStatements,
    memoMethod: (text) => database.prepare<unknown[], unknown>(text),
  })
  return { prepare: (text) => statements.memo(text), close: () => database.close() }
}
