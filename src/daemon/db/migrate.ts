import { Migrator, sql } from 'kysely'
import { problem } from '../../core/kit/index.ts'
import type { Db } from './database.ts'
import { withoutHurry } from './dialects.ts'
import { migrations as shipped } from './migrations/index.ts'
import type { Migration } from './migrations/migration.ts'

/**
 * Brings the schema up to this program, under a lock, so that replicas may start at once. It takes as long as it takes.
 * Throws DATABASE_NEWER when the database knows a migration that this program does not: an older daemon must not write to it.
 */
export const migrate = (db: Db, list: readonly Migration[] = shipped): Promise<void> => withoutHurry(db, (own) => bringUpToDate(own, list))

async function bringUpToDate(db: Db, list: readonly Migration[]): Promise<void> {
  await assertNotNewer(db, list)
  const provider = { getMigrations: async () => Object.fromEntries(list.map(({ name, up }) => [name, { up }])) }
  const { error } = await new Migrator({
    db,
    provider,
    migrationTableName: 'schema_migrations',
    migrationLockTableName: 'schema_lock',
  }).migrateToLatest()
  if (error) throw error
}

/** Migrations that the database lacks, and those that it has and this program does not know. Changes nothing. */
export async function migrationState(db: Db, list: readonly Migration[] = shipped): Promise<{ pending: string[]; unknown: string[] }> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const isMigrated = tables.some(({ name }) => name === 'schema_migrations')
  const { rows } = isMigrated ? await sql<{ name: string }>`select name from schema_migrations order by name`.execute(db) : { rows: [] }
  const [applied, known] = [rows.map(({ name }) => name), list.map(({ name }) => name)]
  return { pending: known.filter((name) => !applied.includes(name)), unknown: applied.filter((name) => !known.includes(name)) }
}

async function assertNotNewer(db: Db, list: readonly Migration[]): Promise<void> {
  const { unknown } = await migrationState(db, list)
  if (unknown.length > 0) {
    throw problem(
      'DATABASE_NEWER',
      `the database has ${unknown.join(', ')}, which this program does not know: start the newer tenantryd, or restore a backup made by this one`,
    )
  }
}
