import type { FirstTold } from '../../core/hosts/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** Of a command only what it told. */
export type ToldSteps = Readonly<{ id: string; steps: readonly FirstTold[] }>

/** Those that exist among the ids, in the order of the ids. */
export async function stepsOfCommands(db: DbOrTx, ids: readonly string[]): Promise<ToldSteps[]> {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('commands').select(['id', 'steps']).where('id', 'in', ids).execute()
  const told = rows.map(({ id, steps }) => ({ id, steps: JSON.parse(steps) }))
  return told.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}
