import { alertOf } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import { changeRollout } from './change-rollout.ts'
import type { VerbDeps } from './deps.ts'
import { cancelPending, closeRolloutAlerts } from './finish-rollout.ts'
import { publishEvent, recordRolloutAudit, streamOf } from './publish.ts'
import { replaceRollout } from './rollouts.repo.ts'

/** Starts no further box; boxes in flight finish. Alerts the operators with the name of who paused it. Throws INVALID_TRANSITION. */
export const pauseRollout = (deps: VerbDeps, actor: Actor, { id, reason }: { id: string; reason: string }): Promise<Rollout> =>
  changeRollout(deps, id, async ({ tx, clock, rollout }) => {
    const paused = { tx, clock, rollout: transition(rollout, { type: 'pause', reason, at: isoNow(clock) }) }
    await replaceRollout(tx, rollout, paused.rollout)
    await publishEvent(paused, { type: 'rollout.paused', reason })
    await raiseAlert(tx, clock, alertOf.rollout_paused({ rolloutId: id, reason, by: actorLabel(actor) }))
    await recordRolloutAudit(paused, { actor, action: 'rollout.paused', data: { reason } })
  })

type Abort = Readonly<{ id: string; reason?: string | undefined }>

/** Ends the rollout as `failed`. Boxes in flight finish and are recorded; pending ones are cancelled. Throws INVALID_TRANSITION. */
export const abortRollout = (deps: VerbDeps, actor: Actor, { id, reason: why }: Abort): Promise<Rollout> =>
  changeRollout(deps, id, async (step) => {
    const { tx, clock, rollout } = step
    const reason = why ?? `aborted by ${actorLabel(actor)}`
    const ended = { ...step, rollout: transition(rollout, { type: 'fail', error: reason, at: isoNow(clock) }) }
    await replaceRollout(tx, rollout, ended.rollout)
    const cancelled = await cancelPending(step)
    await requestCheckpoint(tx, clock, { chain: streamOf(id) })
    await publishEvent(ended, { type: 'rollout.failed', reason })
    await closeRolloutAlerts(ended, 'over')
    const data = { reason, cancelled: cancelled.length, cancelledBoxes: cancelled }
    await recordRolloutAudit(ended, { actor, action: 'rollout.failed', data })
  })
