import { type BoxMigration, headOf, planMigrations } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
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
