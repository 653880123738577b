import type { Rollout } from '../../core/rollouts/index.ts'
import type { Tx } from '../db/index.ts'
import type { VerbNeeds } from './needs.ts'
import { lockRollout, rolloutById, type StoredRollout } from './rollouts.repo.ts'
import { describeRollout } from './show-rollout.ts'

/** The frame of every verb that changes a rollout: locked, changed and told in one transaction; then engine and watchers are woken. */
export async function changeRollout(
  { db, rolloutBus }: VerbNeeds,
  id: string,
  change: (tx: Tx, rollout: StoredRollout) => Promise<void>,
): Promise<Rollout> {
  const changed = await db.transaction().execute(async (tx) => {
    await change(tx, await lockRollout(tx, id))
    return describeRollout(tx, await rolloutById(tx, id))
  })
  rolloutBus.changed(id)
  return changed
}
