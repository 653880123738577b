import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { isFailure, phaseOf, type Rollout, transition } from '../../core/rollouts/index.ts'
import type { Tx } from '../db/index.ts'
import { actionsOf, replaceAction, type StoredAction } from './actions.repo.ts'
import { changeAmongOthers } from './change-rollout.ts'
import { closeRolloutAlerts } from './close-rollout-alerts.ts'
import type { RolloutsDeps, VerbDeps } from './deps.ts'
import { refuseBesideEmergency } from './emergency/beside-emergency.ts'
import { untried } from './queue-rollout.ts'
import { replaceRollout, type StoredRollout } from './rollouts.repo.ts'
import { recordRolloutAudit, tell } from './tell.ts'

type Deps = VerbDeps & Pick<RolloutsDeps, 'requireSnapshots'>
type Wanted = Readonly<{ id: string; skipFailed: boolean; skip?: readonly string[] | undefined }>

/**
 * Back to the phase before the pause. Failed tenants are tried again, or left out with `skipFailed`; `skip` leaves out tenants by name, also
 * those that have not begun. A running rollout stays as it is (the call may be repeated). Throws INVALID_TRANSITION, CONFIG, VALIDATION for a
 * tenant that cannot be left out, and CONFLICT for a box that only a person can mend, or beside an emergency.
 */
export const resumeRollout = (deps: Deps, actor: Actor, { id, skipFailed, skip = [] }: Wanted): Promise<Rollout> =>
  changeAmongOthers(deps, id, async (tx, rollout, others) => {
    if (phaseOf(rollout)) return refuseSkipping(id, skip)
    const { clock } = deps
    const resumed = transition(rollout, { type: 'resume', at: isoNow(clock) })
    deps.requireSnapshots()
    refuseBesideEmergency(rollout, others)
    const open = await actionsOf(tx, id, ['pending', 'failed', 'rolled_back', 'rollback_failed'])
    requireSkippable(id, skip, open)
    const isLeftOut = (action: StoredAction) => skip.includes(action.tenantSlug) || (skipFailed && isFailure(action))
    const leftOut = open.filter(isLeftOut)
    const triedAgain = open.filter((action) => isFailure(action) && !isLeftOut(action))
    refuseUnmended(id, triedAgain)
    await replaceRollout(tx, rollout, resumed)
    await tell(tx, clock, resumed, { type: 'rollout.resumed' })
    for (const action of leftOut) await change(deps, tx, resumed, action, leaveOut(action))
    for (const action of triedAgain) await change(deps, tx, resumed, action, { ...action, ...untried, status: 'pending' })
    await closeRolloutAlerts(tx, clock, id, 'resumed')
    await recordRolloutAudit(tx, clock, resumed, {
      actor,
      action: 'rollout.resumed',
      data: { leftOut: slugsOf(leftOut), triedAgain: slugsOf(triedAgain) },
    })
    return []
  })

const slugsOf = (actions: readonly StoredAction[]) => actions.map(({ tenantSlug }) => tenantSlug)

/** A failure stays one, and blocks no longer; what has not begun is passed over. */
const leaveOut = (action: StoredAction): StoredAction =>
  isFailure(action)
    ? { ...action, waived: true }
    : action.status === 'pending'
      ? { ...action, progress: null, waitsUntil: null, status: 'skipped' }
      : action

async function change({ clock }: Deps, tx: Tx, rollout: StoredRollout, before: StoredAction, after: StoredAction): Promise<void> {
  await replaceAction(tx, before, after)
  await tell(tx, clock, rollout, { type: 'rollout.action', action: after })
}

function refuseSkipping(id: string, skip: readonly string[]): [] {
  if (skip.length > 0) throw problem('CONFLICT', `tenants are left out when a paused rollout is resumed: pause ${id} first`)
  return []
}

function requireSkippable(id: string, skip: readonly string[], open: readonly StoredAction[]): void {
  const slugs = new Set(slugsOf(open))
  const details = skip.flatMap((slug, at) =>
    slugs.has(slug) ? [] : [{ path: `skip.${at}`, reason: `${slug} is not waiting and has not failed in this rollout` }],
  )
  if (details.length > 0)
    throw problem('VALIDATION', `${details[0]?.reason}: \`tenantry rollouts show ${id}\` tells where each stands`, { details })
}

function refuseUnmended(id: string, failed: readonly StoredAction[]): void {
  const stuck = failed.filter(({ status }) => status === 'rollback_failed').map(({ tenantSlug }) => tenantSlug)
  if (stuck.length > 0)
    throw problem(
      'CONFLICT',
      `${stuck.join(', ')} could not be restored and rests stopped: mend it by hand, then \`tenantry rollouts resume ${id} --skip-failed\``,
    )
}
