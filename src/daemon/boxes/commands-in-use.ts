import type { DbOrTx } from '../db/index.ts'

/** Commands that say why a box is not ready yet. */
export async function commandsOfSetUp(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('boxes').select('set_up_command').where('live', '=', 0).execute()
  return rows.map((row) => row.set_up_command)
}
