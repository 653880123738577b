import type { BoxSnapshots } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { proofsOf } from './proofs.ts'
import { newestPresent } from './snapshots.repo.ts'

/** What is told of a box: its newest snapshot, and when its data last came back and how long that took. */
export async function snapshotsOfBox(db: DbOrTx, { tenantId }: { tenantId: string }): Promise<BoxSnapshots> {
  const newest = await newestPresent(db, tenantId)
  const [proof] = await proofsOf(db, [tenantId])
  return {
    lastSnapshot: newest ? { snapshotId: newest.snapshot_id, tier: newest.tier, takenAt: newest.taken_at } : null,
    lastProvenRestore: proof ? { at: proof.at, durationMs: proof.durationMs, snapshotId: proof.snapshotId } : null,
  }
}
