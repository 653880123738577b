import type { Selectable } from 'kysely'
import { type BoxId, type BoxRemoval, type HostId, type RemovalState, removalIsOver } from '../../../core/boxes/index.ts'
import { problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoxRemovalTable } from './life.tables.ts'

/** One way of a box to its end. */
export type Removal = Readonly<{
  id: string
  boxId: BoxId
  hostId: HostId
  state: RemovalState
  epoch: number
  snapshotId: string | null
  /** Its data are not kept. */
  eraseNow: boolean
  reason: string
  by: string
  orders: number
  commandId: string | null
  error: Readonly<{ code: string; message: string }> | null
  startedAt: string
  changedAt: string
  keepUntil: string | null
}>

const toRemoval = (row: Selectable<BoxRemovalTable>): Removal => ({
  id: row.id,
  boxId: row.box_id as BoxId,
  hostId: row.host_id as HostId,
  state: row.state,
  epoch: row.epoch,
  snapshotId: row.snapshot_id,
  eraseNow: row.erase_now === 1,
  reason: row.reason,
  by: row.asked_by,
  orders: row.orders,
  commandId: row.command_id,
  error: row.error === null ? null : JSON.parse(row.error),
  startedAt: row.started_at,
  changedAt: row.changed_at,
  keepUntil: row.keep_until,
})

const toRow = (removal: Removal): BoxRemovalTable => ({
  id: removal.id,
  box_id: removal.boxId,
  host_id: removal.hostId,
  state: removal.state,
  epoch: removal.epoch,
  snapshot_id: removal.snapshotId,
  erase_now: removal.eraseNow ? 1 : 0,
  reason: removal.reason,
  asked_by: removal.by,
  orders: removal.orders,
  command_id: removal.commandId,
  error: removal.error && JSON.stringify(removal.error),
  started_at: removal.startedAt,
  changed_at: removal.changedAt,
  keep_until: removal.keepUntil,
  finished_at: finishedAt(removal),
})

const finishedAt = ({ state, changedAt }: Removal): string | null => (removalIsOver(state) ? changedAt : null)

export async function insertRemoval(tx: Tx, removal: Removal): Promise<void> {
  await tx.insertInto('box_removals').values(toRow(removal)).execute()
}

/** Throws CONFLICT when somebody else changed it since it was read. */
export async function saveRemoval(tx: Tx, before: Removal, after: Removal): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('box_removals')
    .set(toRow(after))
    .where('id', '=', before.id)
    .where('state', '=', before.state)
    .where('orders', '=', before.orders)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw problem('CONFLICT', 'the removal went on at the same moment: look at it again')
}

/** The removal that is not over. */
export async function openRemoval(db: DbOrTx, boxId: BoxId): Promise<Removal | undefined> {
  const row = await db
    .selectFrom('box_removals')
    .selectAll()
    .where('box_id', '=', boxId)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return row && toRemoval(row)
}

/** The removal that waits for this very command. */
export async function removalAwaiting(tx: Tx, commandId: string): Promise<Removal | undefined> {
  const row = await tx
    .selectFrom('box_removals')
    .selectAll()
    .where('command_id', '=', commandId)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return row && toRemoval(row)
}

/** Removals whose data are kept until then, or shorter; all, or the one if it is among them. */
export async function removalsToErase(db: DbOrTx, until: string, id?: string): Promise<Removal[]> {
  let due = db.selectFrom('box_removals').selectAll().where('state', '=', 'kept').where('keep_until', '<=', until).orderBy('id')
  if (id !== undefined) due = due.where('id', '=', id)
  return (await due.execute()).map(toRemoval)
}

/** The latest removal of a box, also when it is over. */
export async function latestRemoval(db: DbOrTx, boxId: BoxId): Promise<Removal | undefined> {
  const open = await openRemoval(db, boxId)
  if (open) return open
  const row = await db.selectFrom('box_removals').selectAll().where('box_id', '=', boxId).orderBy('changed_at', 'desc').executeTakeFirst()
  return row && toRemoval(row)
}

/** The wire's form. */
export const removalView = (removal: Removal): BoxRemoval => ({
  removalId: removal.id,
  state: removal.state,
  snapshotId: removal.snapshotId,
  reason: removal.reason,
  by: removal.by,
  commandId: removal.commandId,
  error: removal.error,
  startedAt: removal.startedAt,
  changedAt: removal.changedAt,
  keepUntil: removal.keepUntil,
  finishedAt: finishedAt(removal),
})
