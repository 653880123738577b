import type { Tx } from '../db/index.ts'
import { lockRepository, newestDamaged, newestPresent } from './snapshots.repo.ts'

/**
 * The newest snapshot of a tenant, for a box whose host is gone; until the commit nobody gives it up. Where only damaged ones are left, the newest
 * of these: a check that found one bad part says so of all, and restoring reads the snapshot before anything rests on it.
 */
export async function snapshotForMove(
  tx: Tx,
  tenantId: string,
): Promise<{ snapshotId: string; snapshotSha256: string | null; takenAt: string; damaged: boolean } | undefined> {
  await lockRepository(tx, tenantId)
  const newest = (await newestPresent(tx, tenantId)) ?? (await newestDamaged(tx, tenantId))
  if (!newest) return undefined
  const { snapshot_id: snapshotId, sha256: snapshotSha256, taken_at: takenAt, status } = newest
  return { snapshotId, snapshotSha256, takenAt, damaged: status === 'damaged' }
}
