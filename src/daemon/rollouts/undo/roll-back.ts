import { alertOf } from '../../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow, plural, problem } from '../../../core/kit/index.ts'
import {
  type ActionRollback,
  inFlightStatuses,
  type RollbackMode,
  type RollbackPlan,
  type Rollout,
  refusalsOf,
  refusalText,
  transition,
} from '../../../core/rollouts/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { requestCheckpoint } from '../../audit/index.ts'
import type { Tx } from '../../db/index.ts'
import { actionsOf, replaceAction, type StoredAction } from '../actions.repo.ts'
import { cancelPending } from '../cancel-pending.ts'
import { changeAmongOthers } from '../change-rollout.ts'
import { closeRolloutAlerts } from '../close-rollout-alerts.ts'
import type { RolloutsDeps, VerbDeps } from '../deps.ts'
import { refuseBesideEmergency } from '../emergency/beside-emergency.ts'
import { replaceRollout, type StoredRollout } from '../rollouts.repo.ts'
import { recordRolloutAudit, streamOf, tell, toldAtEnd } from '../tell.ts'
import { type UndoDeps, undoPlanOf } from './plan-undo.ts'
import { refuseEnded } from './refuse-ended.ts'

type Deps = VerbDeps & UndoDeps & Pick<RolloutsDeps, 'requireSnapshots'>
type Wanted = Readonly<{ id: string; reason: string; boxes: 'none' | RollbackMode; skipRefused: boolean }>

/**
 * Ends it as `rolled_back` at once, and asks for its updated boxes to be brought back where that is wanted: the engine does it, box by box.
 * Tenants under way finish, and are brought back then. Throws INVALID_TRANSITION, CONFIG, PLAN_REFUSED for boxes that cannot go back, and
 * CONFLICT for boxes beside an emergency: it would take those for done that are to leave its versions.
 */
export const rollbackRollout = (deps: Deps, actor: Actor, { id, reason, boxes, skipRefused }: Wanted): Promise<Rollout> =>
  changeAmongOthers(deps, id, async (tx, rollout, others) => {
    const { clock } = deps
    refuseEnded(rollout)
    const ended = transition(rollout, { type: 'rollback', reason, at: isoNow(clock) })
    if (boxes !== 'none') deps.requireSnapshots()
    if (boxes !== 'none') refuseBesideEmergency(rollout, others, 'boxes are brought back afterwards')
    const undos = boxes === 'none' ? [] : await undosWanted(deps, tx, rollout, boxes, skipRefused)
    await replaceRollout(tx, rollout, ended)
    await requestCheckpoint(tx, clock, { chain: streamOf(id) })
    // Its boxes first, and the rollout with them as it was: whoever follows it would take it for over otherwise.
    const cancelled = await cancelPending(tx, clock, rollout)
    await toldAtEnd(tx, id, async () => {
      for (const { action, undo } of undos) await mark(deps, tx, rollout, action, undo)
    })
    await tell(tx, clock, ended, { type: 'rollout.rolled_back', reason })
    await closeRolloutAlerts(tx, clock, id, 'over')
    await raiseAlert(tx, clock, alertOf.rollout_rolled_back({ rolloutId: id, by: actorLabel(actor), reason, boxes }))
    const left = undos.filter(({ undo }) => undo.status === 'failed').map(({ action }) => action.tenantSlug)
    const data = {
      reason,
      cancelled: cancelled.length,
      cancelledBoxes: cancelled,
      boxes,
      undoes: undos.length - left.length,
      leftAsTheyAre: left,
    }
    await recordRolloutAudit(tx, clock, ended, { actor, action: 'rollout.rolled_back', data })
    return []
  })

type Wish = Readonly<{ action: StoredAction; undo: ActionRollback }>

async function undosWanted(deps: Deps, tx: Tx, rollout: StoredRollout, mode: RollbackMode, skipRefused: boolean): Promise<Wish[]> {
  const plan = await undoPlanOf(deps, tx, rollout, mode)
  if (!skipRefused) refuseRefused(plan)
  const refusals = new Map(plan.boxes.filter(({ does }) => does === 'refuse').map((box) => [box.tenantSlug, refusalText(box.findings)]))
  const actions = await actionsOf(tx, rollout.id, ['succeeded', ...inFlightStatuses])
  return actions.map((action) => {
    const message = refusals.get(action.tenantSlug)
    if (message === undefined) return { action, undo: { mode, status: 'pending', error: null } }
    return { action, undo: { mode, status: 'failed', error: { code: 'PREFLIGHT_REFUSED', message } } }
  })
}

function refuseRefused({ rolloutId, mode, boxes, refusals }: RollbackPlan): void {
  if (refusals === 0) return
  const refused = boxes
    .filter(({ does }) => does === 'refuse')
    .map(
      ({ tenantSlug, findings }) =>
        `${tenantSlug}: ${refusalsOf(findings)
          .map(({ code }) => code)
          .join(', ')}`,
    )
  const other = mode === 'images' ? ', or go back by snapshot (`--boxes snapshot`, which loses what was written since)' : ''
  throw problem(
    'PLAN_REFUSED',
    `${plural(refusals, 'box', 'boxes')} cannot go back by ${mode} (${refused.slice(0, 5).join('; ')}${refused.length > 5 ? '; …' : ''}): ` +
      `leave them as they are with \`tenantry rollouts rollback ${rolloutId} --boxes ${mode} --skip-refused --reason '…'\`${other}`,
    { violations: refused.slice(0, 100) },
  )
}

async function mark({ clock }: Deps, tx: Tx, rollout: StoredRollout, action: StoredAction, undo: ActionRollback): Promise<void> {
  const marked = { ...action, undo }
  await replaceAction(tx, action, marked)
  await tell(tx, clock, rollout, { type: 'rollout.action', action: marked })
}
