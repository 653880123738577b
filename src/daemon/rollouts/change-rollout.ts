import type { Rollout } from '../../core/rollouts/index.ts'
import type { VerbDeps } from './deps.ts'
import type { RolloutTx } from './publish.ts'
import { lockOpenRollouts, lockRollout, rolloutById, type StoredRollout } from './rollouts.repo.ts'
import { describeRollout } from './show-rollout.ts'

/** Changes one locked rollout in a transaction, then notifies engine and followers. Answers the rollout as it is then. */
export async function changeRollout(
  { db, clock, rolloutBus }: VerbDeps,
  id: string,
  change: (step: RolloutTx) => Promise<void>,
): Promise<Rollout> {
  const changed = await db.transaction().execute(async (tx) => {
    await change({ tx, clock, rollout: await lockRollout(tx, id) })
    return describeRollout(tx, await rolloutById(tx, id))
  })
  rolloutBus.changed(id)
  return changed
}

/** The transaction of a change that depends on which other rollouts are open. */
export type AmongOthersTx = RolloutTx & Readonly<{ others: readonly StoredRollout[] }>

/** The same with all open rollouts locked, so that none starts, pauses or ends meanwhile. `change` answers which others it changed. */
export async function changeWithOpenRolloutsLocked(
  { db, clock, rolloutBus }: VerbDeps,
  id: string,
  change: (step: AmongOthersTx) => Promise<readonly string[]>,
): Promise<Rollout> {
  const { changed, alsoChanged } = await db.transaction().execute(async (tx) => {
    const { rollout, others } = await lockOpenRollouts(tx, id)
    const alsoChanged = await change({ tx, clock, rollout, others })
    return { alsoChanged, changed: await describeRollout(tx, await rolloutById(tx, id)) }
  })
  for (const one of [...alsoChanged, id]) rolloutBus.changed(one)
  return changed
}
