import { problem } from '../../core/kit/index.ts'
import type { Db } from './database.ts'
import type { DialectName } from './dialects.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

export type OpenDatabase = Readonly<{ db: Db; dialect: DialectName; close(): Promise<void> }>

/** `statementTimeoutMs`: limit for one statement, and for an idle transaction, on PostgreSQL. 0: no limit. */
type Options = Readonly<{ statementTimeoutMs?: number }>

/** Opens `sqlite:<file>` (or `sqlite::memory:`) or `postgres://…`. Does not migrate. Throws CONFIG_INVALID. */
export function openDatabase(url: string, { statementTimeoutMs = 0 }: Options = {}): OpenDatabase {
  if (url.startsWith('sqlite:')) return { dialect: 'sqlite', ...openSqlite(url.slice('sqlite:'.length)) }
  if (/^postgres(ql)?:\/\//.test(url)) return { dialect: 'postgres', ...openPostgres(url, statementTimeoutMs) }
  throw problem(
    'CONFIG_INVALID',
    'The database URL is not supported. fix: set `database` to `sqlite:<file>` or `postgres://user@host/name`',
  )
}
