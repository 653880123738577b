import { type ReturnedBoxes, type StillAsked, stillAsked } from '../../core/rollouts/index.ts'
import { currentManifest, manifestsBefore } from '../boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'

/** Older revisions are not offered. */
const maxRevisions = 50

/** The versions that the current manifest asks for although boxes of the rollout are rolled back from them; null without such boxes. */
export async function manifestStillAsking(db: DbOrTx, rolloutId: string): Promise<StillAsked | null> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select(['tier', 'rollback_mode', 'from_versions', 'to_versions'])
    .distinct()
    .where('rollout_id', '=', rolloutId)
    .where('rollback_status', 'in', ['pending', 'running', 'done'])
    .execute()
  return stillAskedOf(
    db,
    rows.map((row) => ({
      tier: row.tier,
      mode: row.rollback_mode ?? 'images',
      from: JSON.parse(row.from_versions),
      to: JSON.parse(row.to_versions),
    })),
  )
}

/** The same for boxes that are about to be rolled back. */
export async function stillAskedOf(db: DbOrTx, boxes: readonly ReturnedBoxes[]): Promise<StillAsked | null> {
  if (boxes.length === 0) return null
  const current = await currentManifest(db)
  return stillAsked({ boxes, current, earlier: await manifestsBefore(db, { before: current.revision, limit: maxRevisions }) })
}
