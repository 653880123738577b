import type { Rollout } from '../../core/rollouts/index.ts'
import type { Tx } from '../db/index.ts'
import type { VerbDeps } from './deps.ts'
import { lockOpenRollouts, lockRollout, rolloutById, type StoredRollout } from './rollouts.repo.ts'
import { describeRollout } from './show-rollout.ts'

/** The frame of every verb that changes a rollout: locked, changed and told in one transaction; then engine and watchers are woken. */
export async function changeRollout(
  { db, rolloutBus }: VerbDeps,
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

/** The frame of those that set one going: nothing else begins, pauses or ends meanwhile. `change` answers which others it changed too. */
export async function changeAmongOthers(
  { db, rolloutBus }: VerbDeps,
  id: string,
  change: (tx: Tx, rollout: StoredRollout, others: readonly StoredRollout[]) => Promise<readonly string[]>,
): Promise<Rollout> {
  const { changed, alsoChanged } = await db.transaction().execute(async (tx) => {
    const { rollout, others } = await lockOpenRollouts(tx, id)
    const alsoChanged = await change(tx, rollout, others)
    return { alsoChanged, changed: await describeRollout(tx, await rolloutById(tx, id)) }
  })
  for (const one of [...alsoChanged, id]) rolloutBus.changed(one)
  return changed
}
