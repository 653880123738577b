import type { PastRollback } from '../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../db/index.ts'

/** How ways back by images ended, whatever rollout they were of; those of boxes that were updated last come first. */
export async function waysBackByImages(db: DbOrTx, limit = 500): Promise<PastRollback[]> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select(['from_versions', 'to_versions', 'undo_status'])
    .where('undo_status', 'in', ['undone', 'failed'])
    .where('undo_mode', '=', 'images')
    .orderBy('finished_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ from_versions, to_versions, undo_status }) => ({
    from: JSON.parse(from_versions),
    to: JSON.parse(to_versions),
    undo: undo_status === 'undone' ? 'undone' : 'failed',
  }))
}
