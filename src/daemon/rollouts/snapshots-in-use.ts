import type { DbOrTx } from '../db/index.ts'
import { openActions, openRollouts, openUndos } from './still-open.ts'

/** Snapshots that a way back may still need (SAFETY, Snapshots): those of rollouts that are not over, of actions and of undos that are not. */
export async function snapshotsOfRollouts(db: DbOrTx, boxIds: readonly string[]): Promise<{ snapshotId: string; neededBy: string }[]> {
  const rows = await db
    .selectFrom('rollout_attempts as attempt')
    .innerJoin('rollout_actions as action', 'action.id', 'attempt.action_id')
    .innerJoin('rollouts as rollout', 'rollout.id', 'attempt.rollout_id')
    .select(['attempt.snapshot_id', 'rollout.id'])
    .where('action.box_id', 'in', boxIds.length > 0 ? boxIds : [''])
    .where('attempt.snapshot_id', 'is not', null)
    .where((where) =>
      where.or([
        where('rollout.status', 'in', openRollouts),
        where('action.status', 'in', openActions),
        where('action.undo_status', 'in', openUndos),
      ]),
    )
    .execute()
  return rows.map(({ snapshot_id, id }) => ({ snapshotId: snapshot_id as string, neededBy: `rollout ${id}` }))
}
