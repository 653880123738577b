import type { EngineAction, EngineCommand } from '../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../db/index.ts'

/** Whoever gave no answer is called by its name where that is told. That is rare, and looks are many. */
export async function withHostNames(
  db: DbOrTx,
  actions: readonly EngineAction[],
  commands: ReadonlyMap<string, EngineCommand>,
): Promise<readonly EngineAction[]> {
  const isSilent = ({ commandId }: EngineAction) => commandId !== null && commands.get(commandId)?.status === 'expired'
  const ids = [...new Set(actions.filter(isSilent).map(({ hostId }) => hostId))]
  if (ids.length === 0) return actions
  const rows = await db.selectFrom('hosts').select(['id', 'name']).where('id', 'in', ids).execute()
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  return actions.map((action) => ({ ...action, hostName: names.get(action.hostId) ?? action.hostId }))
}
