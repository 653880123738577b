import type { DbOrTx } from '../db/index.ts'
import { openActions, openRollouts } from './still-open.ts'

/** Commands whose end the engine may not have read yet: those of paused rollouts wait for as long as the pause lasts. */
export async function commandsOfRollouts(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .select('action.command_id')
    .where('action.command_id', 'is not', null)
    .where((where) => where.or([where('rollout.status', 'in', openRollouts), where('action.status', 'in', openActions)]))
    .execute()
  return rows.map((row) => row.command_id as string)
}
