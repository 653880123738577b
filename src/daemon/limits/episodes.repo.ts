import type { Episode } from '../../core/limits/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Every tenant that is, or was a moment ago, above 80 % of its budget. */
export async function openEpisodes(db: DbOrTx): Promise<Map<string, Episode>> {
  const rows = await db.selectFrom('budget_episodes').selectAll().execute()
  return new Map(
    rows.map(({ tenant_id, since, last_above_at, told }) => [
      tenant_id,
      { sinceMs: Date.parse(since), lastAboveMs: Date.parse(last_above_at), told: told === 1 },
    ]),
  )
}

export async function saveEpisode(tx: Tx, tenantId: string, episode: Episode | undefined): Promise<void> {
  if (!episode) return void (await tx.deleteFrom('budget_episodes').where('tenant_id', '=', tenantId).execute())
  const columns = { since: isoOf(episode.sinceMs), last_above_at: isoOf(episode.lastAboveMs), told: episode.told ? 1 : 0 }
  await tx
    .insertInto('budget_episodes')
    .values({ tenant_id: tenantId, ...columns })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(columns))
    .execute()
}
