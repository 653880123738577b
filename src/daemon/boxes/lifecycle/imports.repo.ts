import type { Selectable } from 'kysely'
import { type BoxId, type BoxImport, type HostId, importTransition, isImportFinished } from '../../../core/boxes/index.ts'
import { type Clock, isoNow, problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoxImportTable } from '../boxes.tables.ts'

/** An import of a foreign stack into its box. */
export type StoredImport = BoxImport & Readonly<{ boxId: BoxId; hostId: HostId }>

const toImport = (row: Selectable<BoxImportTable>): StoredImport => ({
  importId: row.id,
  boxId: row.box_id as BoxId,
  hostId: row.host_id as HostId,
  state: row.state,
  reason: row.reason,
  by: row.asked_by,
  folder: row.folder,
  project: row.project,
  dropped: JSON.parse(row.dropped),
  facts: row.facts === null ? null : JSON.parse(row.facts),
  written: row.written === null ? null : JSON.parse(row.written),
  importedAt: row.imported_at,
  commandId: row.command_id,
  error: row.error === null ? null : JSON.parse(row.error),
  startedAt: row.started_at,
  changedAt: row.changed_at,
  finishedAt: row.finished_at,
})

const toRow = (one: StoredImport): BoxImportTable => ({
  id: one.importId,
  box_id: one.boxId,
  host_id: one.hostId,
  state: one.state,
  reason: one.reason,
  asked_by: one.by,
  folder: one.folder,
  project: one.project,
  dropped: JSON.stringify(one.dropped),
  facts: one.facts && JSON.stringify(one.facts),
  written: one.written && JSON.stringify(one.written),
  imported_at: one.importedAt,
  command_id: one.commandId,
  error: one.error && JSON.stringify(one.error),
  started_at: one.startedAt,
  changed_at: one.changedAt,
  finished_at: isImportFinished(one.state) ? one.changedAt : null,
})

export const insertImport = async (tx: Tx, one: StoredImport): Promise<void> =>
  void (await tx.insertInto('box_imports').values(toRow(one)).execute())

/** Throws CONFLICT when it was changed since it was read. */
export async function saveImport(tx: Tx, before: StoredImport, after: StoredImport): Promise<void> {
  const changed = tx.updateTable('box_imports').set(toRow(after)).where('id', '=', before.importId).where('state', '=', before.state)
  if ((await changed.executeTakeFirst()).numUpdatedRows > 0n) return
  throw problem('CONFLICT', `${before.importId} was changed at the same time. fix: check \`tenantry boxes show\`, then retry`)
}

const imports = (db: DbOrTx) => db.selectFrom('box_imports').selectAll()

/** The unfinished one of a box. */
export async function openImport(db: DbOrTx, boxId: BoxId): Promise<StoredImport | undefined> {
  const row = await imports(db).where('box_id', '=', boxId).where('finished_at', 'is', null).executeTakeFirst()
  return row && toImport(row)
}

/** The one that waits for the command. */
export async function importAwaiting(tx: Tx, boxId: BoxId, commandId: string): Promise<StoredImport | undefined> {
  const open = await openImport(tx, boxId)
  return open?.commandId === commandId ? open : undefined
}

/** The latest import of a box, finished ones included. */
export async function latestImport(db: DbOrTx, boxId: BoxId): Promise<StoredImport | undefined> {
  const open = await openImport(db, boxId)
  if (open) return open
  const row = await imports(db).where('box_id', '=', boxId).orderBy('started_at', 'desc').orderBy('id', 'desc').executeTakeFirst()
  return row && toImport(row)
}

/** As operators see it. */
export const importView = ({ boxId: _box, hostId: _host, ...view }: StoredImport): BoxImport => view

/** Ends the return path of a box that has left the host of its stack, or is removed. */
export async function endImport(tx: Tx, clock: Clock, boxId: BoxId): Promise<void> {
  const open = await openImport(tx, boxId)
  if (open?.state === 'imported')
    await saveImport(tx, open, { ...open, state: importTransition('imported', 'left'), changedAt: isoNow(clock) })
}
