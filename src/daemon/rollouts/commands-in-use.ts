import type { DbOrTx } from '../db/index.ts'
import { openActions, openRollouts } from './still-open.ts'

/** Commands whose end the engine may not have read yet: those of paused rollouts wait for as long as the pause lasts. */
export async function commandsOfRollouts(db: DbOrTx): Promise<string[]> {
  const waiting = db.selectFrom('rollout_actions as action').select('action.command_id').where('action.command_id', 'is not', null)
  const open = db.selectFrom('rollouts').select('id').where('status', 'in', openRollouts)
  // Each half has its index; asked in one, every action of every rollout there ever was is looked at.
  const rows = await waiting
    .where('action.rollout_id', 'in', open)
    .union(waiting.where('action.status', 'in', openActions))
    .execute()
  return rows.map((row) => row.command_id as string)
}
