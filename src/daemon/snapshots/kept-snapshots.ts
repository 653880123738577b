import type { SnapshotStatus } from '../../core/snapshots/index.ts'
import type { DbOrTx } from '../db/index.ts'

type Which = Readonly<{ boxId: string; snapshotId: string }>
type Kept = Readonly<{ snapshotId: string; sha256: string | null; takenAt: string; status: SnapshotStatus }>

/** Far below what either dialect takes in parameters. */
const chunkSize = 500

/** What the registry knows of these snapshots, by `boxId/snapshotId`; what it does not know is not in it. */
export async function keptSnapshots(db: DbOrTx, which: readonly Which[]): Promise<ReadonlyMap<string, Kept>> {
  const kept = new Map<string, Kept>()
  for (let from = 0; from < which.length; from += chunkSize) {
    const ids = which.slice(from, from + chunkSize).map(({ snapshotId }) => snapshotId)
    const rows = await db
      .selectFrom('snapshots')
      .select(['box_id', 'snapshot_id', 'sha256', 'taken_at', 'status'])
      .where('snapshot_id', 'in', ids)
      .execute()
    for (const { box_id, snapshot_id: snapshotId, sha256, taken_at: takenAt, status } of rows)
      kept.set(`${box_id}/${snapshotId}`, { snapshotId, sha256, takenAt, status })
  }
  return kept
}
