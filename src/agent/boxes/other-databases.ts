import { plural, problem } from '../../core/kit/index.ts'
import type { BoxServers, LocalBox } from '../ports/index.ts'

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
