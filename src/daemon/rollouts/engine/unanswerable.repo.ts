import type { DbOrTx } from '../../db/index.ts'
import type { CommandState } from '../../hosts/index.ts'

/**
 * Among commands that were taken and given up those whose answer can never come: a person has since brought the box up on another host, or given
 * it up, and nothing is heard of the former one any more. Waited for, they would keep their rollout from its end for ever.
 */
export async function unanswerable(db: DbOrTx, commands: readonly CommandState[]): Promise<ReadonlySet<string>> {
  const silent = commands.filter(({ status, leaseToken, result }) => status === 'expired' && leaseToken > 0 && result === null)
  if (silent.length === 0) return new Set()
  const boxIds = silent.map(({ boxId }) => boxId)
  const boxes = await db.selectFrom('boxes').select(['id', 'host_id', 'removal']).where('id', 'in', boxIds).execute()
  const hostOf = new Map(boxes.map(({ id, host_id, removal }) => [id, removal === 'erased' ? null : host_id]))
  return new Set(silent.filter(({ boxId, hostId }) => hostOf.get(boxId) !== hostId).map(({ id }) => id))
}
