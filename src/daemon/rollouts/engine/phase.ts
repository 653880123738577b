import { isoIn, isoNow } from '../../../core/kit/index.ts'
import {
  explainHold,
  failedStatuses,
  isFailure,
  isOver,
  mustSkipFailures,
  type Phase,
  phaseOf,
  transition,
} from '../../../core/rollouts/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { requestCheckpoint } from '../../audit/index.ts'
import { actionsOf } from '../actions.repo.ts'
import { rolloutPaused } from '../alerts.ts'
import { closeRolloutAlerts, engineActor, publishEvent, type RolloutTx, recordRolloutAudit, streamOf } from '../publish.ts'

import { replaceRollout } from '../rollouts.repo.ts'
import { type LeasedRollout, underLease } from './under-lease.ts'

/** Facts of the alert: `held` by `holdAfter`; `mustSkip`: resuming requires skipping the failed boxes. */
type PauseFacts = Readonly<{ held?: boolean; mustSkip?: boolean }>

/** Pauses the rollout and alerts its operators. `reason` ends in the possible next actions. */
export async function pauseByEngine(step: RolloutTx, reason: string, { held = false, mustSkip = false }: PauseFacts = {}): Promise<void> {
  const { tx, clock, rollout } = step
  const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
  await replaceRollout(tx, rollout, paused)
  const after = { ...step, rollout: paused }
  await publishEvent(after, { type: 'rollout.paused', reason })
  await raiseAlert(tx, clock, rolloutPaused({ rolloutId: rollout.id, reason, held, mustSkip }))
  await recordRolloutAudit(after, { actor: engineActor, action: 'rollout.paused', data: { reason } })
}

/** A phase with failures pauses. Nothing happens where an operator has meanwhile skipped or retried them. */
export const pausePhase = (leased: LeasedRollout, reason: string): Promise<void> =>
  underLease(leased, async (step) => {
    const phase = phaseOf(step.rollout)
    const failed = phase ? await actionsOf(step.tx, step.rollout.id, failedStatuses) : []
    const open = failed.filter((action) => action.phase === phase && isFailure(action))
    if (open.length > 0) await pauseByEngine(step, reason, { mustSkip: mustSkipFailures(open) })
    return undefined
  })

/** The boxes of a complete phase are watched before the next one begins. With gates alone the watching is over at once, and they are asked. */
export const beginBake = (leased: LeasedRollout, from: Phase): Promise<void> =>
  underLease(leased, async (step) => {
    const { tx, clock, rollout } = step
    if (phaseOf(rollout) !== from || rollout.bakeUntil !== null) return undefined
    const baking = transition(rollout, { type: 'bake', at: isoNow(clock), until: isoIn(clock, rollout.bakeMs ?? 0) })
    await replaceRollout(tx, rollout, baking)
    await publishEvent({ ...step, rollout: baking }, { type: 'rollout.baking' })
    return undefined
  })

/** An updated box does not stay healthy. Nothing happens where the bake has meanwhile ended. */
export const stopBake = (leased: LeasedRollout, { from, reason }: Readonly<{ from: Phase; reason: string }>): Promise<void> =>
  underLease(leased, async (step) => {
    if (phaseOf(step.rollout) === from && step.rollout.bakeUntil !== null) await pauseByEngine(step, reason)
    return undefined
  })

/** A phase without failures advances to the next one, or finishes the rollout; then it pauses where `holdAfter` names the phase. */
export const advancePhase = (leased: LeasedRollout, from: Phase): Promise<void> =>
  underLease(leased, async (step) => {
    if (phaseOf(step.rollout) !== from) return undefined
    const after = await enterNextPhase(step, from)
    if (step.rollout.holdAfter === from && !isOver(after.rollout.status)) await pauseByEngine(after, explainHold(from), { held: true })
    return undefined
  })

/** Stores, publishes and audits the next phase, or the end of the rollout. */
export async function enterNextPhase(step: RolloutTx, from: Phase): Promise<RolloutTx> {
  const { tx, clock, rollout } = step
  const next = transition(rollout, { type: 'advance', at: isoNow(clock) })
  const after = { ...step, rollout: next }
  const type = isOver(next.status) ? 'rollout.done' : 'rollout.phase'
  await replaceRollout(tx, rollout, next)
  await requestCheckpoint(tx, clock, { chain: streamOf(rollout.id) })
  await publishEvent(after, { type })
  if (isOver(next.status)) await closeRolloutAlerts(after, 'over')
  await recordRolloutAudit(after, { actor: engineActor, action: type, data: { from, to: next.status } })
  return after
}
