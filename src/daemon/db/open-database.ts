import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import type { Db } from './database.ts'
import type { DialectName } from './dialects.ts'
import { assertPostgresUrl, openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

export type OpenDatabase = Readonly<{ db: Db; dialect: DialectName; close(): Promise<void> }>

/** `statementTimeoutMs`: limit for one statement, and for an idle transaction, on PostgreSQL. 0: no limit. */
type Options = Readonly<{ statementTimeoutMs?: number }>

/** Opens `sqlite:<file>` (or `sqlite::memory:`) or `postgres://…`. Does not migrate. Throws CONFIG_INVALID. */
export function openDatabase(url: string, { statementTimeoutMs = 0 }: Options = {}): OpenDatabase {
  if (url.startsWith('sqlite:')) return { dialect: 'sqlite', ...openSqlite(url.slice('sqlite:'.length)) }
  if (/^postgres(ql)?:\/\//.test(url)) return { dialect: 'postgres', ...openPostgres(url, statementTimeoutMs) }
  throw unsupported()
}

const unsupported = () =>
  problem('CONFIG_INVALID', 'The database URL is not supported. fix: set `database` to `sqlite:<file>` or `postgres://user@host/name`')

/** Checks the URL without opening the database; `dataDir` may not exist yet. Throws CONFIG_INVALID. */
export function assertDatabaseUrl(url: string, dataDir: string): void {
  if (url.startsWith('sqlite:')) assertSqliteFile(url.slice('sqlite:'.length), dataDir)
  else assertPostgresUrl(url)
}

function assertSqliteFile(file: string, dataDir: string): void {
  if (file === '') throw unsupported()
  if (file === ':memory:') return
  const folder = dirname(resolve(file))
  if (folder !== resolve(dataDir) && !statsOf(folder)?.isDirectory())
    throw problem('CONFIG_INVALID', `The folder ${folder} of the database does not exist. fix: mkdir -p ${folder}`)
  if (!isSqlite(file))
    throw problem(
      'CONFIG_INVALID',
      `The database ${file} is not a SQLite file. fix: set TENANTRY_DATABASE to another file, or leave it out`,
    )
}

const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

const signature = 'SQLite format 3\0'

/** True for a file that does not exist, or is empty: it becomes a database. */
function isSqlite(file: string): boolean {
  const stats = statsOf(file)
  if (!stats || (stats.isFile() && stats.size === 0)) return true
  if (!stats.isFile()) return false
  const [opened, start] = [openSync(file, 'r'), Buffer.alloc(signature.length)]
  try {
    readSync(opened, start)
    return start.toString('latin1') === signature
  } finally {
    closeSync(opened)
  }
}
