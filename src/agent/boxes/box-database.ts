import { type BoxMigration, headOf, planMigrations } from '../../core/boxes/index.ts'
import { plural, problem } from '../../core/kit/index.ts'
import type { BoxServers, CommandContext, LocalBox } from '../ports/index.ts'

type Deps = Readonly<{ servers: BoxServers }>

/**
 * What brings the box's own tables from what its database says to the wanted head; fetched from the daemon while the box serves, because it
 * may be away afterwards. Throws PREFLIGHT_REFUSED for a way that there is not, BOX_UNHEALTHY where the database does not answer.
 */
export async function migrationsFor(
  { servers }: Deps,
  { migrations }: Pick<CommandContext, 'migrations'>,
  box: LocalBox,
  wanted: string,
): Promise<readonly BoxMigration[]> {
  const facts = await servers.databaseFacts(box)
  if (!facts) throw problem('BOX_UNHEALTHY', `the database of ${box.slug} does not answer; repair the box before updating it`)
  if (headOf(facts.migrations) === wanted) return []
  const plan = planMigrations(await migrations(), facts.migrations, wanted)
  if ('problem' in plan) throw problem('PREFLIGHT_REFUSED', `${box.slug}: ${plan.problem}`)
  if (facts.ownerIsSuperuser)
    throw problem(
      'PREFLIGHT_REFUSED',
      `the role that owns the database of ${box.slug} is a superuser, and box migrations run as nothing more than an owner: make a role for it and name it as TENANTRY_DATABASE of its PostgreSQL, or keep the manifest at ${headOf(facts.migrations)}`,
    )
  return plan.toApply
}

/** In the running database, one after the other; one that an interrupted try had applied is passed over. */
export async function applyMigrations(
  { servers }: Deps,
  { signal, progress }: Pick<CommandContext, 'signal' | 'progress'>,
  box: LocalBox,
  migrations: readonly BoxMigration[],
): Promise<void> {
  for (const migration of migrations) {
    progress({ step: 'migrate', detail: `box migration ${migration.head}-${migration.name}` })
    await servers.applyMigration(box, migration, signal)
  }
}

export const otherDatabasesFinding = (names: readonly string[]): string =>
  `PostgreSQL also holds ${plural(names.length, 'database')} of others (${names.slice(0, 20).join(', ')}), which no dump or snapshot would hold: move ${names.length === 1 ? 'it' : 'them'} to another server, and drop ${names.length === 1 ? 'it' : 'them'} here`

/**
 * A dump is of the chat server's database alone, and once it is loaded elsewhere the former volume is removed: with it would go the only copy
 * of every other database. `silent` says what is done where PostgreSQL cannot be asked. Throws PREFLIGHT_REFUSED or BOX_UNHEALTHY.
 */
export async function refuseOtherDatabases(
  { servers }: Readonly<{ servers: BoxServers }>,
  box: LocalBox,
  silent: 'refuse' | 'pass' = 'refuse',
): Promise<void> {
  const facts = await servers.databaseFacts(box)
  if (!facts && silent === 'refuse')
    throw problem('BOX_UNHEALTHY', `PostgreSQL of ${box.slug} does not say which databases it holds; repair the box, then try again`)
  if (facts && facts.otherDatabases.length > 0)
    throw problem('PREFLIGHT_REFUSED', `${box.slug}: ${otherDatabasesFinding(facts.otherDatabases)}`)
}
