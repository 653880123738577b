import { type ActionRollback, inFlightStatuses } from '../../core/rollouts/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { openUndos } from './still-open.ts'

/** Asks for rollouts with boxes that are to be brought back, or are on their way. */
export const bringingBack = (db: DbOrTx, undos: readonly ActionRollback['status'][] = openUndos) =>
  db.selectFrom('rollout_actions').select('rollout_id').where('undo_status', 'in', undos)

/** Rollouts with boxes that wait to be brought back. */
export async function bringingMoreBack(db: DbOrTx): Promise<string[]> {
  const rows = await bringingBack(db, ['pending']).distinct().orderBy('rollout_id').execute()
  return rows.map(({ rollout_id }) => rollout_id)
}

/** Slugs of boxes that are being changed now, there or back, by whichever rollout. */
export async function slugsInFlight(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('rollout_actions').select('slug').where('status', 'in', inFlightStatuses).execute()
  return rows.map(({ slug }) => slug)
}
