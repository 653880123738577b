import { sql } from 'kysely'
import { type ActionCounts, phaseOf } from '../../core/rollouts/index.ts'
import type { DbOrTx } from '../db/index.ts'
import type { StoredRollout } from './rollouts.repo.ts'

/** Until when each rollout only waits for maintenance windows: nothing of it is under way, and no box of its phase may begin before. */
export async function waitingUntil(
  db: DbOrTx,
  rollouts: readonly StoredRollout[],
  counts: (rolloutId: string) => ActionCounts,
): Promise<(rolloutId: string) => string | null> {
  const still = rollouts.filter((rollout) => phaseOf(rollout) && counts(rollout.id).running === 0).map(({ id }) => id)
  if (still.length === 0) return () => null
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .select((select) => [
      'action.rollout_id',
      select.fn.min('action.waits_until').as('until'),
      sql<number>`sum(case when action.progress is null then 1 else 0 end)`.as('ready'),
    ])
    .where('action.rollout_id', 'in', still)
    .where('action.status', '=', 'pending')
    .whereRef('action.phase', '=', sql.ref('rollout.status'))
    .groupBy('action.rollout_id')
    .execute()
  const known = new Map(rows.map(({ rollout_id, until, ready }) => [rollout_id, Number(ready) === 0 ? until : null]))
  return (id) => known.get(id) ?? null
}
