import type { FirstTold } from '../../core/hosts/index.ts'
import { type DbOrTx, preparedList } from '../db/index.ts'

/** Of a command only what it told. */
export type ToldSteps = Readonly<{ id: string; steps: readonly FirstTold[] }>

/** Those that exist among the ids, in the order of the ids. */
export async function stepsOfCommands(db: DbOrTx, ids: readonly string[]): Promise<ToldSteps[]> {
  if (ids.length === 0) return []
  const rows = await stepsAmong(db, ids)
  const told = rows.map(({ id, steps }) => ({ id, steps: JSON.parse(steps) }))
  return told.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

const stepsAmong = preparedList<string, { id: string; steps: string }>((db, ids) =>
  db.selectFrom('commands').select(['id', 'steps']).where('id', 'in', ids),
)
