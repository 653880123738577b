import type { DbOrTx } from '../db/index.ts'
import type { SnapshotOwner, SnapshotRow } from './snapshots.repo.ts'

// A restore replaces the data of a box. Snapshots that were taken before it are of the former data, but for the restored one and earlier ones.

type LastRestore = Readonly<{ command_id: string; snapshot_id: string; asked_at: string; ended_at: string | null }>

/** The last restore or take-over of a box that put its snapshot in place. */
export const lastRestoreOf = (db: DbOrTx, { id }: Pick<SnapshotOwner, 'id'>): Promise<LastRestore | undefined> =>
  db
    .selectFrom('box_restores')
    .select(['command_id', 'snapshot_id', 'asked_at', 'ended_at'])
    .where('box_id', '=', id)
    .where('status', '=', 'restored')
    .orderBy('asked_at', 'desc')
    .orderBy('command_id')
    .executeTakeFirst()

/**
 * The newest of these snapshots with the data of the box: taken since its last restore, else the restored one, else an earlier one. Only where there
 * is none of them, the newest of the data that was replaced. `newestFirst`: the candidates; `all` has the restored one too.
 */
export function newestOfData(
  newestFirst: readonly SnapshotRow[],
  { all, last }: Readonly<{ all: readonly SnapshotRow[]; last: LastRestore | undefined }>,
): SnapshotRow | undefined {
  if (!last) return newestFirst[0]
  // The restore itself takes a snapshot of what it replaces.
  const isLater = (one: SnapshotRow) => one.taken_at >= last.asked_at && one.command_id !== last.command_id
  const restoredAt = all.find(({ snapshot_id }) => snapshot_id === last.snapshot_id)?.taken_at ?? ''
  return (
    newestFirst.find(isLater) ??
    newestFirst.find(({ snapshot_id }) => snapshot_id === last.snapshot_id) ??
    newestFirst.find(({ taken_at }) => taken_at <= restoredAt) ??
    newestFirst[0]
  )
}

/** When the data of boxes was last replaced, by tenant; only since a time. */
export async function replacedSince(db: DbOrTx, since: string): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('box_restores')
    .select(({ fn }) => ['tenant_id', fn.max('ended_at').as('at')])
    .where('status', '=', 'restored')
    .where('ended_at', '>', since)
    .groupBy('tenant_id')
    .execute()
  return new Map(rows.flatMap(({ tenant_id, at }) => (at === null ? [] : [[tenant_id, at] as const])))
}
