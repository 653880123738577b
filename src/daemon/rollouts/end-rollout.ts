import { type Actor, actorLabel, isoNow } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import { cancelPending } from './cancel-pending.ts'
import { changeRollout } from './change-rollout.ts'
import { closeRolloutAlerts } from './close-rollout-alerts.ts'
import type { VerbNeeds } from './needs.ts'
import { replaceRollout } from './rollouts.repo.ts'
import { streamOf, tell, writeDown } from './tell.ts'

/** Ends it as `failed`. Tenants under way finish and are recorded; the others are cancelled. Throws INVALID_TRANSITION. */
export const abortRollout = (
  needs: VerbNeeds,
  actor: Actor,
  { id, reason: why }: { id: string; reason?: string | undefined },
): Promise<Rollout> =>
  changeRollout(needs, id, async (tx, rollout) => {
    const { clock } = needs
    const reason = why ?? `aborted by ${actorLabel(actor)}`
    const ended = transition(rollout, { type: 'fail', error: reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, ended)
    const cancelled = await cancelPending(tx, clock, rollout)
    await requestCheckpoint(tx, clock, { chain: streamOf(id) })
    await tell(tx, clock, ended, { type: 'rollout.failed', reason })
    await closeRolloutAlerts(tx, clock, id, 'over')
    await writeDown(tx, clock, ended, {
      actor,
      action: 'rollout.failed',
      data: { reason, cancelled: cancelled.length, cancelledBoxes: cancelled },
    })
  })
