import type { Selectable } from 'kysely'
import { type BoxId, type BoxMove, type HostId, isMoveFinished, type MoveState, statesBetweenHosts } from '../../../core/boxes/index.ts'
import { elapsedMs, problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoxMoveTable } from '../boxes.tables.ts'
import { type Procedure, procedureColumns, procedureView, toProcedure } from './procedure.ts'

/** What a box can be made from on another host. */
export type MoveSnapshot = Readonly<{ snapshotId: string; snapshotSha256: string | null; takenAt: string }>

/** One way of a box from host to host. */
export type Move = Procedure<MoveState> &
  Readonly<{
    fromHostId: HostId
    toHostId: HostId
    /** Null where the ports of the box are not ours. */
    fromPort: number | null
    toPort: number
    /** Whether that host may have containers and volumes of the box that are not the box itself. */
    fromCopy: boolean
    toCopy: boolean
    oldHostIsDead: boolean
    snapshot: MoveSnapshot | null
  }>

const toMove = (row: Selectable<BoxMoveTable>): Move => ({
  ...toProcedure(row),
  fromHostId: row.from_host_id as HostId,
  toHostId: row.to_host_id as HostId,
  fromPort: row.from_first_port,
  toPort: row.to_first_port,
  fromCopy: row.from_copy === 1,
  toCopy: row.to_copy === 1,
  oldHostIsDead: row.old_host_dead === 1,
  snapshot:
    row.snapshot_id === null || row.snapshot_at === null
      ? null
      : { snapshotId: row.snapshot_id, snapshotSha256: row.snapshot_sha256, takenAt: row.snapshot_at },
})

const isOver = ({ state }: Move): boolean => isMoveFinished(state)

const toRow = (move: Move): BoxMoveTable => ({
  ...procedureColumns(move, isOver(move)),
  from_host_id: move.fromHostId,
  to_host_id: move.toHostId,
  from_first_port: move.fromPort,
  to_first_port: move.toPort,
  from_copy: move.fromCopy ? 1 : 0,
  to_copy: move.toCopy ? 1 : 0,
  old_host_dead: move.oldHostIsDead ? 1 : 0,
  snapshot_id: move.snapshot?.snapshotId ?? null,
  snapshot_sha256: move.snapshot?.snapshotSha256 ?? null,
  snapshot_at: move.snapshot?.takenAt ?? null,
})

export async function insertMove(tx: Tx, move: Move): Promise<void> {
  await tx.insertInto('box_moves').values(toRow(move)).execute()
}

/** Throws CONFLICT when somebody else changed it since it was read. */
export async function saveMove(tx: Tx, before: Move, after: Move): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('box_moves')
    .set(toRow(after))
    .where('id', '=', before.id)
    .where('state', '=', before.state)
    .where('orders', '=', before.orders)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw problem('CONFLICT', 'the move went on at the same moment: look at it again')
}

/** The move that is not over. */
export async function openMove(db: DbOrTx, boxId: BoxId): Promise<Move | undefined> {
  const row = await db.selectFrom('box_moves').selectAll().where('box_id', '=', boxId).where('finished_at', 'is', null).executeTakeFirst()
  return row && toMove(row)
}

/** Boxes that neither host of their move runs. */
export async function boxesBetweenHosts(db: DbOrTx): Promise<BoxId[]> {
  const rows = await db
    .selectFrom('box_moves')
    .select('box_id')
    .where('finished_at', 'is', null)
    .where('state', 'in', [...statesBetweenHosts])
    .execute()
  return rows.map(({ box_id }) => box_id as BoxId)
}

/** Boxes whose host is dead and that another makes anew from their newest snapshot, which may be from long before what they ran last. */
export async function slugsRebuiltFromSnapshot(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('box_moves')
    .innerJoin('boxes', 'boxes.id', 'box_moves.box_id')
    .select('boxes.slug')
    .where('box_moves.finished_at', 'is', null)
    .where('box_moves.old_host_dead', '=', 1)
    .where('box_moves.state', '=', 'taking_over')
    .execute()
  return rows.map(({ slug }) => slug)
}

/** The move that waits for this very command. */
export async function moveAwaiting(tx: Tx, commandId: string): Promise<Move | undefined> {
  const row = await tx
    .selectFrom('box_moves')
    .selectAll()
    .where('command_id', '=', commandId)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return row && toMove(row)
}

/** Moves whose old copy is kept until then, or shorter; all, or the one if it is among them. */
export async function movesToConfirm(db: DbOrTx, until: string, id?: string): Promise<Move[]> {
  let due = db.selectFrom('box_moves').selectAll().where('state', '=', 'confirming').where('keep_until', '<=', until).orderBy('id')
  if (id !== undefined) due = due.where('id', '=', id)
  return (await due.execute()).map(toMove)
}

/** The latest move of each box, also when it is over. */
export async function latestMoves(db: DbOrTx, boxIds: readonly BoxId[]): Promise<ReadonlyMap<BoxId, Move>> {
  if (boxIds.length === 0) return new Map()
  const rows = await db.selectFrom('box_moves').selectAll().where('box_id', 'in', boxIds).orderBy('started_at').orderBy('id').execute()
  const moves = rows.map(toMove).toSorted((a, b) => Number(isOver(b)) - Number(isOver(a)))
  return new Map(moves.map((move) => [move.boxId, move]))
}

/** The highest ownership ever given out for the box. */
export async function highestEpoch(db: DbOrTx, boxId: BoxId): Promise<number> {
  const highest = (table: 'box_moves' | 'box_removals') =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.max<number | null>('epoch').as('epoch'))
      .where('box_id', '=', boxId)
      .executeTakeFirst()
  return Math.max(0, Number((await highest('box_moves'))?.epoch ?? 0), Number((await highest('box_removals'))?.epoch ?? 0))
}

/** The host has the box itself now: what an earlier move left there is no copy any more. */
export async function forgetCopies(tx: Tx, boxId: BoxId, hostId: HostId): Promise<void> {
  await tx.updateTable('box_moves').set({ from_copy: 0 }).where('box_id', '=', boxId).where('from_host_id', '=', hostId).execute()
  await tx.updateTable('box_moves').set({ to_copy: 0 }).where('box_id', '=', boxId).where('to_host_id', '=', hostId).execute()
}

/** The wire's form; `nameOf` knows the hosts. */
export const moveView = (move: Move, nameOf: (id: HostId) => string): BoxMove => ({
  moveId: move.id,
  from: nameOf(move.fromHostId),
  to: nameOf(move.toHostId),
  oldHostIsDead: move.oldHostIsDead,
  epoch: move.epoch,
  snapshotId: move.snapshot?.snapshotId ?? null,
  snapshotTakenAt: move.snapshot?.takenAt ?? null,
  losesMs: lossOf(move),
  ...procedureView(move, isOver(move)),
})

function lossOf({ oldHostIsDead, snapshot, startedAt }: Move): number | null {
  if (!oldHostIsDead) return 0
  return snapshot ? Math.max(0, elapsedMs(snapshot.takenAt, startedAt)) : null
}
