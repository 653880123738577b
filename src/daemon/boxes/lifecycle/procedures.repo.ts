import type { Selectable } from 'kysely'
import {
  type BoxId,
  type BoxMove,
  type BoxRemoval,
  type HostId,
  isMoveFinished,
  isRemovalFinished,
  type MoveState,
  mayRunUnknown,
  type RemovalState,
  statesBetweenHosts,
} from '../../../core/boxes/index.ts'
import { elapsedMs, problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoxMoveTable, BoxRemovalTable } from '../boxes.tables.ts'
import { type Procedure, procedureColumns, procedureView, toProcedure } from './procedure.ts'

/** A snapshot from which another host can rebuild a box. */
export type MoveSnapshot = Readonly<{ snapshotId: string; snapshotSha256: string | null; takenAt: string }>

export type Move = Procedure<MoveState> &
  Readonly<{
    fromHostId: HostId
    toHostId: HostId
    /** Null for a box with ports of its own. */
    fromPort: number | null
    toPort: number
    /** True if that host may have a copy (containers and volumes) of the box. */
    fromCopy: boolean
    toCopy: boolean
    oldHostIsDead: boolean
    snapshot: MoveSnapshot | null
  }>

export type Removal = Procedure<RemovalState> &
  Readonly<{
    hostId: HostId
    snapshotId: string | null
    /** Its data is not retained. */
    eraseNow: boolean
    /** Objects that it left on the host, and the reason why it has no last snapshot. */
    remarks: readonly string[]
  }>

type Store<Item, Row> = Readonly<{ table: 'box_moves' | 'box_removals'; toItem(row: Row): Item; toRow(item: Item): object }>

/** The queries that moves and removals share. */
function storeOf<Item extends Procedure<string>, Row>({ table, toItem, toRow }: Store<Item, Row>) {
  const rows = (db: DbOrTx) => db.selectFrom(table).selectAll()
  const unfinished = (db: DbOrTx) => rows(db).where('finished_at', 'is', null)
  const itemOf = (row: unknown): Item | undefined => (row === undefined ? undefined : toItem(row as Row))
  return {
    insert: async (tx: Tx, item: Item): Promise<void> => {
      await tx
        .insertInto(table)
        .values(toRow(item) as never)
        .execute()
    },
    /** Throws CONFLICT when it was changed since it was read. */
    save: async (tx: Tx, before: Item, after: Item): Promise<void> => {
      const { numUpdatedRows } = await tx
        .updateTable(table)
        .set(toRow(after) as never)
        .where('id', '=', before.id)
        .where('state', '=', before.state as never)
        .where('orders', '=', before.orders)
        .executeTakeFirst()
      if (numUpdatedRows > 0n) return
      throw problem('CONFLICT', `${before.id} was changed at the same time. fix: check \`tenantry boxes show\`, then retry`)
    },
    /** The unfinished one of a box. */
    open: async (db: DbOrTx, boxId: BoxId): Promise<Item | undefined> =>
      itemOf(await unfinished(db).where('box_id', '=', boxId).executeTakeFirst()),
    /** The unfinished one that waits for the command. */
    awaiting: async (tx: Tx, commandId: string): Promise<Item | undefined> =>
      itemOf(await unfinished(tx).where('command_id', '=', commandId).executeTakeFirst()),
    /** Those in a state whose retention ended by `until`; all, or one by id. */
    expired: async (db: DbOrTx, { state, until, id }: Readonly<{ state: Item['state']; until: string; id: string | undefined }>) => {
      const query = rows(db)
        .where('state', '=', state as never)
        .where('keep_until', '<=', until)
        .orderBy('id')
      return (await (id === undefined ? query : query.where('id', '=', id)).execute()).map((row) => toItem(row as unknown as Row))
    },
  }
}

const isMoveOver = ({ state }: Move): boolean => isMoveFinished(state)
const isRemovalOver = ({ state }: Removal): boolean => isRemovalFinished(state)

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

const moveStore = storeOf<Move, Selectable<BoxMoveTable>>({
  table: 'box_moves',
  toItem: toMove,
  toRow: (move): BoxMoveTable => ({
    ...procedureColumns(move, isMoveOver(move)),
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
  }),
})

const toRemoval = (row: Selectable<BoxRemovalTable>): Removal => ({
  ...toProcedure(row),
  hostId: row.host_id as HostId,
  snapshotId: row.snapshot_id,
  eraseNow: row.erase_now === 1,
  remarks: row.remarks === null ? [] : JSON.parse(row.remarks),
})

const removalStore = storeOf<Removal, Selectable<BoxRemovalTable>>({
  table: 'box_removals',
  toItem: toRemoval,
  toRow: (removal): BoxRemovalTable => ({
    ...procedureColumns(removal, isRemovalOver(removal)),
    host_id: removal.hostId,
    snapshot_id: removal.snapshotId,
    erase_now: removal.eraseNow ? 1 : 0,
    remarks: removal.remarks.length === 0 ? null : JSON.stringify(removal.remarks),
  }),
})

export const { insert: insertMove, save: saveMove, open: openMove, awaiting: moveAwaiting } = moveStore
export const { insert: insertRemoval, save: saveRemoval, open: openRemoval, awaiting: removalAwaiting } = removalStore

/** Moves whose old copy is past retention; all, or one by id. */
export const movesToConfirm = (db: DbOrTx, until: string, id?: string): Promise<Move[]> =>
  moveStore.expired(db, { state: 'confirming', until, id })

/** Removals whose data is past retention; all, or one by id. */
export const removalsToErase = (db: DbOrTx, until: string, id?: string): Promise<Removal[]> =>
  removalStore.expired(db, { state: 'kept', until, id })

/** Boxes that neither host of their move runs. */
export async function boxesBetweenHosts(db: DbOrTx): Promise<BoxId[]> {
  const open = db.selectFrom('box_moves').select('box_id').where('finished_at', 'is', null)
  return (await open.where('state', 'in', [...statesBetweenHosts]).execute()).map(({ box_id }) => box_id as BoxId)
}

/** Boxes of dead hosts that another host is rebuilding from a snapshot, which may have older versions. */
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

/** The latest move of each box, finished ones included. */
export async function latestMoves(db: DbOrTx, boxIds: readonly BoxId[]): Promise<ReadonlyMap<BoxId, Move>> {
  if (boxIds.length === 0) return new Map()
  const rows = await db.selectFrom('box_moves').selectAll().where('box_id', 'in', boxIds).orderBy('started_at').orderBy('id').execute()
  const moves = rows.map(toMove).toSorted((a, b) => Number(isMoveOver(b)) - Number(isMoveOver(a)))
  return new Map(moves.map((move) => [move.boxId, move]))
}

/** The latest removal of a box, finished ones included. */
export async function latestRemoval(db: DbOrTx, boxId: BoxId): Promise<Removal | undefined> {
  const open = await openRemoval(db, boxId)
  if (open) return open
  const row = await db.selectFrom('box_removals').selectAll().where('box_id', '=', boxId).orderBy('changed_at', 'desc').executeTakeFirst()
  return row && toRemoval(row)
}

/** The highest ownership epoch ever given out for the box. */
export async function highestEpoch(db: DbOrTx, boxId: BoxId): Promise<number> {
  const highest = (table: 'box_moves' | 'box_removals') =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.max<number | null>('epoch').as('epoch'))
      .where('box_id', '=', boxId)
      .executeTakeFirst()
  return Math.max(0, Number((await highest('box_moves'))?.epoch ?? 0), Number((await highest('box_removals'))?.epoch ?? 0))
}

/** Clears the copies of earlier moves on a host that has the box itself now. */
export async function forgetCopies(tx: Tx, boxId: BoxId, hostId: HostId): Promise<void> {
  await tx.updateTable('box_moves').set({ from_copy: 0 }).where('box_id', '=', boxId).where('from_host_id', '=', hostId).execute()
  await tx.updateTable('box_moves').set({ to_copy: 0 }).where('box_id', '=', boxId).where('to_host_id', '=', hostId).execute()
}

/** The wire format of a move; `nameOf` returns host names. */
export const moveView = (move: Move, nameOf: (id: HostId) => string): BoxMove => ({
  moveId: move.id,
  from: nameOf(move.fromHostId),
  to: nameOf(move.toHostId),
  oldHostIsDead: move.oldHostIsDead,
  mayRunOnNewHost: move.toCopy && mayRunUnknown(move),
  epoch: move.epoch,
  snapshotId: move.snapshot?.snapshotId ?? null,
  snapshotTakenAt: move.snapshot?.takenAt ?? null,
  losesMs: dataLossMs(move),
  ...procedureView(move, isMoveOver(move)),
})

function dataLossMs({ oldHostIsDead, snapshot, startedAt }: Move): number | null {
  if (!oldHostIsDead) return 0
  return snapshot ? Math.max(0, elapsedMs(snapshot.takenAt, startedAt)) : null
}

/** The wire format of a removal. */
export const removalView = (removal: Removal): BoxRemoval => ({
  removalId: removal.id,
  snapshotId: removal.snapshotId,
  remarks: [...removal.remarks],
  ...procedureView(removal, isRemovalOver(removal)),
})
