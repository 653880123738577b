import type { DbOrTx } from '../db/index.ts'

/** Commands of restores whose agent was not heard of: it may still tell. */
export async function commandsOfRestores(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('box_restores').select('command_id').where('status', 'in', ['open', 'unheard']).execute()
  return rows.map((row) => row.command_id)
}
