import { type Actor, actorLabel, isoNow } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import { cancelPending } from './cancel-pending.ts'
import { changeRollout } from './change-rollout.ts'
import { closeRolloutAlerts } from './close-rollout-alerts.ts'
import type { VerbDeps } from './deps.ts'
import { replaceRollout } from './rollouts.repo.ts'
import { recordRolloutAudit, streamOf, tell } from './tell.ts'

/** Ends it as `failed`. Tenants under way finish and are recorded; the others are cancelled. Throws INVALID_TRANSITION. */
export const abortRollout = (
  deps: VerbDeps,
  actor: Actor,
  { id, reason: why }: { id: string; reason?: string | undefined },
): Promise<Rollout> =>
  changeRollout(deps, id, async (tx, rollout) => {
    const { clock } = deps
    const reason = why ?? `aborted by ${actorLabel(actor)}`
    const ended = transition(rollout, { type: 'fail', error: reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, ended)
    const cancelled = await cancelPending(tx, clock, rollout)
    await requestCheckpoint(tx, clock, { chain: streamOf(id) })
    await tell(tx, clock, ended, { type: 'rollout.failed', reason })
    await closeRolloutAlerts(tx, clock, id, 'over')
    await recordRolloutAudit(tx, clock, ended, {
      actor,
      action: 'rollout.failed',
      data: { reason, cancelled: cancelled.length, cancelledBoxes: cancelled },
    })
  })
