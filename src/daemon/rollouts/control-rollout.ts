import { type Actor, actorLabel, isoNow, problem } from '../../core/kit/index.ts'
import { isFailure, phaseOf, type Rollout, transition } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import { actionsOf, type StoredAction, untried } from './actions.repo.ts'
import { rolloutPaused } from './alerts.ts'
import { changeRollout, changeWithOpenRolloutsLocked } from './change-rollout.ts'
import type { RolloutsDeps, VerbDeps } from './deps.ts'
import { assertNoEmergencyBeside } from './emergency/assert-no-emergency.ts'
import { rolloutsInPhase } from './open-rollouts.repo.ts'
import { cancelPending, closeRolloutAlerts, publishEvent, recordRolloutAudit, streamOf, updateAction } from './publish.ts'
import { replaceRollout } from './rollouts.repo.ts'

type Stop = Readonly<{ id: string; reason?: string | undefined }>

/** Starts no further box; boxes in flight finish. Alerts the operators with the name of who paused it. Throws INVALID_TRANSITION. */
export const pauseRollout = (deps: VerbDeps, actor: Actor, { id, reason: why }: Stop): Promise<Rollout> =>
  changeRollout(deps, id, async ({ tx, clock, rollout }) => {
    const reason = why ?? `paused by ${actorLabel(actor)}`
    const paused = { tx, clock, rollout: transition(rollout, { type: 'pause', reason, at: isoNow(clock) }) }
    await replaceRollout(tx, rollout, paused.rollout)
    await publishEvent(paused, { type: 'rollout.paused', reason })
    await raiseAlert(tx, clock, rolloutPaused({ rolloutId: id, reason, by: actorLabel(actor) }))
    await recordRolloutAudit(paused, { actor, action: 'rollout.paused', data: { reason } })
  })

/** Pauses every rollout that is in a phase; returns their ids. */
export async function pauseRunningRollouts(deps: VerbDeps, actor: Actor, reason: string): Promise<string[]> {
  const ids = await rolloutsInPhase(deps.db)
  for (const id of ids) await pauseRollout(deps, actor, { id, reason })
  return ids
}

/** Ends the rollout as `failed`. Boxes in flight finish and are recorded; pending ones are cancelled. Throws INVALID_TRANSITION. */
export const abortRollout = (deps: VerbDeps, actor: Actor, { id, reason: why }: Stop): Promise<Rollout> =>
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

type Deps = VerbDeps & Pick<RolloutsDeps, 'assertSnapshotsConfigured'>
type Input = Readonly<{ id: string; skipFailed: boolean; skip?: readonly string[] | undefined }>

/**
 * Returns to the phase before the pause. Failed boxes are retried, or skipped with `skipFailed`; `skip` skips boxes by name, also pending ones.
 * A running rollout stays as it is, so the call may be repeated. Throws INVALID_TRANSITION, CONFIG, VALIDATION for a box that cannot be
 * skipped, and CONFLICT for a box that needs a repair by hand, or beside an emergency.
 */
export const resumeRollout = (deps: Deps, actor: Actor, { id, skipFailed, skip = [] }: Input): Promise<Rollout> =>
  changeWithOpenRolloutsLocked(deps, id, async ({ tx, clock, rollout, others }) => {
    if (phaseOf(rollout)) return assertNothingToSkip(id, skip)
    const resumed = { tx, clock, rollout: transition(rollout, { type: 'resume', at: isoNow(clock) }) }
    deps.assertSnapshotsConfigured()
    assertNoEmergencyBeside(rollout, others)
    const open = await actionsOf(tx, id, ['pending', 'failed', 'rolled_back', 'rollback_failed'])
    assertSkippable(id, skip, open)
    const isSkipped = (action: StoredAction) => skip.includes(action.tenantSlug) || (skipFailed && isFailure(action))
    const skipped = open.filter(isSkipped)
    const retried = open.filter((action) => isFailure(action) && !isSkipped(action))
    assertRepaired(id, retried)
    await replaceRollout(tx, rollout, resumed.rollout)
    await publishEvent(resumed, { type: 'rollout.resumed' })
    for (const action of skipped) await updateAction(resumed, action, skippedAction(action))
    for (const action of retried) await updateAction(resumed, action, { ...action, ...untried, status: 'pending' })
    await closeRolloutAlerts(resumed, 'resumed')
    const data = { leftOut: slugsOf(skipped), triedAgain: slugsOf(retried) }
    await recordRolloutAudit(resumed, { actor, action: 'rollout.resumed', data })
    return []
  })

const slugsOf = (actions: readonly StoredAction[]) => actions.map(({ tenantSlug }) => tenantSlug)

/** A failure stays one but no longer blocks the phase; a pending box becomes `skipped`. */
const skippedAction = (action: StoredAction): StoredAction =>
  isFailure(action)
    ? { ...action, waived: true }
    : action.status === 'pending'
      ? { ...action, progress: null, waitsUntil: null, status: 'skipped', waived: true }
      : action

function assertNothingToSkip(id: string, skip: readonly string[]): [] {
  if (skip.length > 0)
    throw problem('CONFLICT', `rollout ${id} is running; boxes can be skipped only when a paused rollout is resumed. fix: pause it first`)
  return []
}

function assertSkippable(id: string, skip: readonly string[], open: readonly StoredAction[]): void {
  const slugs = new Set(slugsOf(open))
  const details = skip.flatMap((slug, at) =>
    slugs.has(slug) ? [] : [{ path: `skip.${at}`, reason: `${slug} is neither pending nor failed in this rollout` }],
  )
  if (details.length > 0)
    throw problem('VALIDATION', `${details[0]?.reason}. fix: list the boxes with \`tenantry rollouts show ${id}\``, { details })
}

function assertRepaired(id: string, failed: readonly StoredAction[]): void {
  const broken = failed.filter(({ status }) => status === 'rollback_failed').map(({ tenantSlug }) => tenantSlug)
  if (broken.length > 0)
    throw problem(
      'CONFLICT',
      `${broken.join(', ')} could not be restored and is stopped. fix: repair it by hand, then \`tenantry rollouts resume ${id} --skip-failed\``,
    )
}
