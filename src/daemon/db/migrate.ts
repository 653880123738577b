import { Migrator, sql } from 'kysely'
import { problem } from '../../core/kit/index.ts'
import type { Db } from './database.ts'
import { migrations as shipped } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'
import { withoutTimeLimit } from './postgres.ts'

/**
 * Brings the schema up to this version, under a lock, so that replicas may start at once. Without time limit.
 * Throws DATABASE_NEWER when the database has a migration that this version does not know: an older daemon must not write to it.
 */
export const migrate = (db: Db, list: readonly Migration[] = shipped): Promise<void> =>
  withoutTimeLimit(db, async (unlimited) => {
    await assertNotNewer(unlimited, list)
    const provider = { getMigrations: async () => Object.fromEntries(list.map(({ name, up }) => [name, { up }])) }
    const { error } = await new Migrator({
      db: unlimited,
      provider,
      migrationTableName: 'schema_migrations',
      migrationLockTableName: 'schema_lock',
    }).migrateToLatest()
    if (error) throw error
  })

/** Migrations that the database lacks, and those that this version does not know. Changes nothing. */
export async function migrationState(db: Db, list: readonly Migration[] = shipped): Promise<{ pending: string[]; unknown: string[] }> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const isMigrated = tables.some(({ name }) => name === 'schema_migrations')
  const { rows } = isMigrated ? await sql<{ name: string }>`select name from schema_migrations order by name`.execute(db) : { rows: [] }
  const [applied, known] = [rows.map(({ name }) => name), list.map(({ name }) => name)]
  return { pending: known.filter((name) => !applied.includes(name)), unknown: applied.filter((name) => !known.includes(name)) }
}

async function assertNotNewer(db: Db, list: readonly Migration[]): Promise<void> {
  const { unknown } = await migrationState(db, list)
  if (unknown.length === 0) return
  throw problem(
    'DATABASE_NEWER',
    `The database is newer than this version (unknown migrations: ${unknown.join(', ')}). fix: start the newer tenantryd, or restore a backup made by this version`,
  )
}
