import type { ReopenedHole } from '../../core/boxes/index.ts'
import type { BoxRecord } from '../boxes/index.ts'
import type { Tx } from '../db/index.ts'
import { type HoleDeps, holesOfSnapshot } from './holes-of-snapshot.ts'
import { lockRepository, newestDamaged, newestPresent } from './snapshots.repo.ts'

type ForMove = Readonly<{ snapshotId: string; snapshotSha256: string | null; takenAt: string; damaged: boolean; reopens: ReopenedHole[] }>

/**
 * The newest snapshot of a tenant, for a box whose host is gone; until the commit nobody gives it up. Where only damaged ones are left, the newest
 * of these: a check that found one bad part says so of all, and restoring reads the snapshot before anything rests on it. A hole that it opens
 * again is no reason to leave the box down; whoever moves it is told.
 */
export const snapshotForMove =
  (deps: HoleDeps) =>
  async (tx: Tx, box: BoxRecord): Promise<ForMove | undefined> => {
    await lockRepository(tx, box.tenantId)
    const newest = (await newestPresent(tx, box.tenantId)) ?? (await newestDamaged(tx, box.tenantId))
    if (!newest) return undefined
    const { snapshot_id: snapshotId, sha256: snapshotSha256, taken_at: takenAt, status } = newest
    const reopens = await holesOfSnapshot(deps, tx, box, newest)
    return { snapshotId, snapshotSha256, takenAt, damaged: status === 'damaged', reopens }
  }
