import type { Episode } from '../../core/limits/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Reads all open episodes by tenant id. */
export async function openEpisodes(db: DbOrTx): Promise<Map<string, Episode>> {
  const rows = await db.selectFrom('budget_episodes').selectAll().execute()
  return new Map(
    rows.map(({ tenant_id, since, last_above_at, notified }) => [
      tenant_id,
      { sinceMs: Date.parse(since), lastAboveMs: Date.parse(last_above_at), alerted: notified === 1 },
    ]),
  )
}

export async function saveEpisode(tx: Tx, tenantId: string, episode: Episode | undefined): Promise<void> {
  if (!episode) return void (await tx.deleteFrom('budget_episodes').where('tenant_id', '=', tenantId).execute())
  const columns = { since: isoOf(episode.sinceMs), last_above_at: isoOf(episode.lastAboveMs), notified: episode.alerted ? 1 : 0 }
  await tx
    .insertInto('budget_episodes')
    .values({ tenant_id: tenantId, ...columns })
    .onConflict((c) => c.column('tenant_id').doUpdateSet(columns))
    .execute()
}
