import { alertOf } from '../../../core/alerts/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { explainHold, failedStatuses, isFailure, isOver, type Phase, phaseOf, transition } from '../../../core/rollouts/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { requestCheckpoint } from '../../audit/index.ts'
import type { Tx } from '../../db/index.ts'
import { actionsOf } from '../actions.repo.ts'
import { closeRolloutAlerts } from '../close-rollout-alerts.ts'
import type { RolloutsDeps } from '../deps.ts'
import { replaceRollout, type StoredRollout } from '../rollouts.repo.ts'
import { engineActor, recordRolloutAudit, streamOf, tell } from '../tell.ts'
import { asOwner, type Owned, type Sent } from './owned.ts'

/** The engine itself pauses, with a reason that ends in what may be done now, and says so to whoever is not looking. */
export async function pauseByEngine(
  tx: Tx,
  { clock }: Pick<RolloutsDeps, 'clock'>,
  rollout: StoredRollout,
  reason: string,
  { held = false }: { held?: boolean } = {},
): Promise<StoredRollout> {
  const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
  await replaceRollout(tx, rollout, paused)
  await tell(tx, clock, paused, { type: 'rollout.paused', reason })
  await raiseAlert(tx, clock, alertOf.rollout_paused({ rolloutId: rollout.id, reason, held }))
  await recordRolloutAudit(tx, clock, paused, { actor: engineActor, action: 'rollout.paused', data: { reason } })
  return paused
}

/** A phase with failures pauses instead of advancing. Nothing happens when somebody else was faster, and has left them out or has them tried again. */
export const pausePhase = (owned: Owned, reason: string): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const phase = phaseOf(rollout)
    const failed = phase ? await actionsOf(tx, rollout.id, failedStatuses) : []
    if (failed.some((action) => action.phase === phase && isFailure(action))) await pauseByEngine(tx, owned.deps, rollout, reason)
    return undefined
  })

/** A phase without failures leads to the next one at once, unless the rollout was told to hold here. */
export const advancePhase = (owned: Owned, from: Phase): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    if (phaseOf(rollout) !== from) return undefined
    const { deps } = owned
    const next = transition(rollout, { type: 'advance', at: isoNow(deps.clock) })
    const type = isOver(next.status) ? 'rollout.done' : 'rollout.phase'
    await replaceRollout(tx, rollout, next)
    await requestCheckpoint(tx, deps.clock, { chain: streamOf(rollout.id) })
    await tell(tx, deps.clock, next, { type })
    if (isOver(next.status)) await closeRolloutAlerts(tx, deps.clock, rollout.id, 'over')
    await recordRolloutAudit(tx, deps.clock, next, { actor: engineActor, action: type, data: { from, to: next.status } })
    if (rollout.holdAfter === from && !isOver(next.status)) await pauseByEngine(tx, deps, next, explainHold(from), { held: true })
    return undefined
  })
