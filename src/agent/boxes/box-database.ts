import { type BoxMigration, headOf, planMigrations } from '../../core/boxes/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { BoxServers, CommandContext, LocalBox } from '../ports/index.ts'

type Deps = Readonly<{ servers: BoxServers }>

/**
 * Returns the migrations that take the box's database to the requested head. They are fetched before downtime, because the daemon may be
 * unreachable later. Throws PREFLIGHT_REFUSED when no path exists, BOX_UNHEALTHY when the database does not answer.
 */
export async function migrationsFor(
  { servers, migrations }: Deps & Pick<CommandContext, 'migrations'>,
  box: LocalBox,
  requested: string,
): Promise<readonly BoxMigration[]> {
  const facts = await servers.databaseFacts(box)
  if (!facts) throw problem('BOX_UNHEALTHY', `The database of ${box.slug} does not answer. fix: repair the box before updating it`)
  if (headOf(facts.migrations) === requested) return []
  const plan = planMigrations(await migrations(), facts.migrations, requested)
  if ('problem' in plan) throw problem('PREFLIGHT_REFUSED', `${box.slug}: ${plan.problem}`)
  if (facts.ownerIsSuperuser)
    throw problem(
      'PREFLIGHT_REFUSED',
      `The database owner of ${box.slug} is a superuser; box migrations must not run as one. fix: create an owner role and set TENANTRY_DATABASE of its PostgreSQL to it, or keep the manifest at ${headOf(facts.migrations)}`,
    )
  return plan.toApply
}

/** Applies the migrations to the running database in order; skips those applied by an interrupted attempt. */
export async function applyMigrations(
  { servers, signal, progress }: Deps & Pick<CommandContext, 'signal' | 'progress'>,
  box: LocalBox,
  migrations: readonly BoxMigration[],
): Promise<void> {
  for (const migration of migrations) {
    progress({ step: 'migrate', detail: `box migration ${migration.head}-${migration.name}` })
    await servers.applyMigration(box, migration, signal)
  }
}

const otherDatabasesFinding = (names: readonly string[]): string =>
  `PostgreSQL holds ${plural(names.length, 'other database')} (${names.slice(0, 20).join(', ')}) that dumps and snapshots do not include. fix: move ${names.length === 1 ? 'it' : 'them'} to another server and drop ${names.length === 1 ? 'it' : 'them'} here`

/**
 * A dump holds only the chat server's database, and the old volume is removed after a load: other databases would be lost with it.
 * `silent` decides the result when PostgreSQL does not answer. Throws PREFLIGHT_REFUSED or BOX_UNHEALTHY.
 */
export async function assertNoOtherDatabases(
  { servers }: Readonly<{ servers: BoxServers }>,
  box: LocalBox,
  silent: 'refuse' | 'pass' = 'refuse',
): Promise<void> {
  const facts = await servers.databaseFacts(box)
  if (!facts && silent === 'refuse')
    throw problem(
      'BOX_UNHEALTHY',
      `PostgreSQL of ${box.slug} does not answer, so its databases cannot be listed. fix: repair the box, then retry`,
    )
  if (facts && facts.otherDatabases.length > 0)
    throw problem('PREFLIGHT_REFUSED', `${box.slug}: ${otherDatabasesFinding(facts.otherDatabases)}`)
}
