import type { DbOrTx } from '../../db/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/** The last emergency that updated the box since this rollout was planned; null where none did. */
export async function emergencySince(db: DbOrTx, { createdAt }: StoredRollout, boxId: string): Promise<string | null> {
  const row = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .select('rollout.id')
    .where('action.box_id', '=', boxId)
    .where('action.status', '=', 'succeeded')
    .where('action.finished_at', '>=', createdAt)
    .where('rollout.kind', '=', 'emergency_cve')
    .orderBy('action.finished_at', 'desc')
    .executeTakeFirst()
  return row?.id ?? null
}
