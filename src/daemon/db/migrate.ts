import { Migrator, sql } from 'kysely'
import { problem } from '../../core/kit/index.ts'
import type { Db } from './database.ts'
import { migrations as released } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { withoutTimeLimit } from './postgres.ts'

const tableName = 'schema_migrations'

/**
 * Brings the schema up to this version, without time limit. All pending migrations and their records commit in one transaction, so a process
 * that is killed leaves nothing of them; only one process migrates at a time, the others wait for it.
 * Throws DATABASE_NEWER when the database has a migration that this version does not know: an older daemon must not write to it. Throws
 * DATABASE_UNRELEASED for a database of a build before the first release.
 */
export async function migrate(db: Db, list: readonly Migration[] = released): Promise<void> {
  if (!(await hasPending(db, list))) return
  await withoutTimeLimit(db, (unlimited) => whenUnlocked(() => migrateAll(unlimited, list)))
}

async function migrateAll(db: Db, list: readonly Migration[]): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(list.map(({ name, up }) => [name, { up }])) },
    migrationTableName: tableName,
    migrationLockTableName: `${tableName}_lock`,
    // Kysely orders those that ran by their time, and a clock may have been set back.
    allowUnorderedMigrations: true,
  })
  const { error } = await migrator.migrateToLatest()
  if (error === undefined) return
  // A newer program may have migrated meanwhile.
  await hasPending(db, list)
  throw error
}

/** The names of all migrations of this version, oldest first. */
export const knownMigrations: readonly string[] = released.map(({ name }) => name)

/** Migrations that the database lacks, and those that this version does not know. Changes nothing. */
export async function migrationState(db: Db, list: readonly Migration[] = released): Promise<{ pending: string[]; unknown: string[] }> {
  const isMigrated = (await db.introspection.getTables()).some(({ name }) => name === tableName)
  const { rows } = isMigrated
    ? await sql<{ name: string }>`select name from ${sql.table(tableName)} order by name`.execute(db)
    : { rows: [] }
  const [applied, known] = [rows.map(({ name }) => name), list.map(({ name }) => name)]
  return { pending: known.filter((name) => !applied.includes(name)), unknown: applied.filter((name) => !known.includes(name)) }
}

/** Why this version cannot use a database with these unknown migrations, and what to do. */
export const refusalOf = (unknown: readonly string[]) =>
  unknown.includes('0001-frame')
    ? ({
        code: 'DATABASE_UNRELEASED',
        what: 'was made by a build before the first release, and this version cannot read it',
        fix: 'move the data folder away, or name an empty database in TENANTRY_DATABASE, and start again',
      } as const)
    : ({
        code: 'DATABASE_NEWER',
        what: `is newer than this version (unknown migrations: ${unknown.join(', ')})`,
        fix: 'start the newer tenantryd, or restore a backup made by this version',
      } as const)

async function hasPending(db: Db, list: readonly Migration[]): Promise<boolean> {
  const { pending, unknown } = await migrationState(db, list)
  if (unknown.length === 0) return pending.length > 0
  const { code, what, fix } = refusalOf(unknown)
  throw problem(code, `The database ${what}. fix: ${fix}`)
}

const maxAttempts = 120

/** On SQLite an attempt waits 5 s for the write lock; another process may migrate for longer. PostgreSQL waits by itself. */
async function whenUnlocked(run: () => Promise<void>): Promise<void> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!String((error as { code?: unknown } | undefined)?.code).startsWith('SQLITE_BUSY')) throw error
    }
  }
  throw problem('UNAVAILABLE', 'Another process has locked the SQLite database for ten minutes. fix: stop that process and start again')
}
