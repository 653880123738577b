import type { Selectable } from 'kysely'
import { type BoxId, type BoxRemoval, type HostId, isRemovalFinished, type RemovalState } from '../../../core/boxes/index.ts'
import { problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoxRemovalTable } from '../boxes.tables.ts'
import { type Procedure, procedureColumns, procedureView, toProcedure } from './procedure.ts'

/** One way of a box to its end. */
export type Removal = Procedure<RemovalState> &
  Readonly<{
    hostId: HostId
    snapshotId: string | null
    /** Its data are not kept. */
    eraseNow: boolean
  }>

const toRemoval = (row: Selectable<BoxRemovalTable>): Removal => ({
  ...toProcedure(row),
  hostId: row.host_id as HostId,
  snapshotId: row.snapshot_id,
  eraseNow: row.erase_now === 1,
})

const isOver = ({ state }: Removal): boolean => isRemovalFinished(state)

const toRow = (removal: Removal): BoxRemovalTable => ({
  ...procedureColumns(removal, isOver(removal)),
  host_id: removal.hostId,
  snapshot_id: removal.snapshotId,
  erase_now: removal.eraseNow ? 1 : 0,
})

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
  snapshotId: removal.snapshotId,
  ...procedureView(removal, isOver(removal)),
})
