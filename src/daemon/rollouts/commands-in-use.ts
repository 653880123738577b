import type { DbOrTx } from '../db/index.ts'

/** Commands whose end the engine has not read yet: those of paused rollouts wait for as long as the pause lasts. */
export async function commandsOfRollouts(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('rollout_actions').select('command_id').where('command_id', 'is not', null).execute()
  return rows.map((row) => row.command_id as string)
}
