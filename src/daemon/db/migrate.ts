import { sql } from 'kysely'
import { problem } from '../../core/kit/index.ts'
import type { Db, DbOrTx, Tx } from './database.ts'
import { dialectOf } from './dialects.ts'
import { migrations as shipped } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { withoutTimeLimit } from './postgres.ts'

/**
 * Brings the schema up to this version, without time limit. All pending migrations and their records commit in one transaction, so a process
 * that is killed leaves nothing behind; only one process migrates at a time, the others wait for it.
 * Throws DATABASE_NEWER when the database has a migration that this version does not know: an older daemon must not write to it. Throws
 * DATABASE_INCOMPLETE when version 0.1.0 was killed while it migrated this SQLite file.
 */
export async function migrate(db: Db, list: readonly Migration[] = shipped): Promise<void> {
  if ((await pendingIn(db, list)).length === 0) return
  await withoutTimeLimit(db, (unlimited) =>
    whenUnlocked(() =>
      unlimited.transaction().execute(async (tx) => {
        await lockSchema(tx)
        for (const migration of await pendingIn(tx, list)) await apply(tx, migration)
      }),
    ),
  )
}

/** The names of all migrations of this version, oldest first. */
export const knownMigrations: readonly string[] = shipped.map(({ name }) => name)

/** Migrations that the database lacks, and those that this version does not know. Changes nothing. */
export async function migrationState(db: DbOrTx, list: readonly Migration[] = shipped): Promise<{ pending: string[]; unknown: string[] }> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const isMigrated = tables.some(({ name }) => name === 'schema_migrations')
  const { rows } = isMigrated ? await sql<{ name: string }>`select name from schema_migrations order by name`.execute(db) : { rows: [] }
  const [applied, known] = [rows.map(({ name }) => name), list.map(({ name }) => name)]
  return { pending: known.filter((name) => !applied.includes(name)), unknown: applied.filter((name) => !known.includes(name)) }
}

async function pendingIn(db: DbOrTx, list: readonly Migration[]): Promise<readonly Migration[]> {
  const { pending, unknown } = await migrationState(db, list)
  if (unknown.length === 0) return list.filter(({ name }) => pending.includes(name))
  throw problem(
    'DATABASE_NEWER',
    `The database is newer than this version (unknown migrations: ${unknown.join(', ')}). fix: start the newer tenantryd, or restore a backup made by this version`,
  )
}

const maxAttempts = 120

/** On SQLite an attempt waits 5 s for the write lock; another process may migrate for longer. PostgreSQL waits in `lockSchema`. */
async function whenUnlocked(run: () => Promise<void>): Promise<void> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!codeOf(error).startsWith('SQLITE_BUSY')) throw error
    }
  }
  throw problem('UNAVAILABLE', 'Another process has locked the SQLite database for ten minutes. fix: stop that process and start again')
}

/** The lock that migrations of version 0.1.0 take. A transaction of SQLite has the write lock from its beginning. */
const postgresLock = sql.lit('3853314791062309107')

async function lockSchema(tx: Tx): Promise<void> {
  if (dialectOf(tx) === 'postgres') await sql`select pg_advisory_xact_lock(${postgresLock}::bigint)`.execute(tx)
  await tx.schema
    .createTable('schema_migrations')
    .ifNotExists()
    .addColumn('name', 'varchar(255)', (c) => c.notNull().primaryKey())
    .addColumn('timestamp', 'varchar(255)', (c) => c.notNull())
    .execute()
}

async function apply(tx: Tx, { name, up }: Migration): Promise<void> {
  try {
    await up(tx as never)
  } catch (error) {
    throw codeOf(error) === 'SQLITE_ERROR' ? await incomplete(tx, name, error as Error) : error
  }
  await sql`insert into schema_migrations (name, timestamp) values (${name}, cast(current_timestamp as varchar(255)))`.execute(tx)
}

async function incomplete(tx: Tx, name: string, error: Error) {
  const { rows } = await sql<{ file: string }>`select file from pragma_database_list where name = 'main'`.execute(tx)
  const file = rows[0]?.file || 'the database'
  return problem(
    'DATABASE_INCOMPLETE',
    `Migration ${name} cannot be applied to ${file} (${error.message}): an earlier version was killed while it migrated. fix: restore the copy made before the upgrade; for a new installation: mv ${file} ${file}.broken, then start again`,
    { cause: error },
  )
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code)
