import type { FirstTold } from '../../core/hosts/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** Of a command only what it told and when it was over. */
export type ToldSteps = Readonly<{ id: string; steps: readonly FirstTold[]; finishedAt: string | null }>

/** Those that exist among the ids, in the order of the ids. */
export async function stepsOfCommands(db: DbOrTx, ids: readonly string[]): Promise<ToldSteps[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('commands').select(['id', 'steps', 'finished_at']).where('id', 'in', ids).execute()
  const told = rows.map(({ id, steps, finished_at }) => ({ id, steps: JSON.parse(steps), finishedAt: finished_at }))
  return told.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}
