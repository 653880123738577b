import { type Actor, actorLabel, problem } from '../../../core/kit/index.ts'
import { isOver, isRollbackStalled, type Rollout } from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import { actionsOf, replaceAction, type StoredAction } from '../actions.repo.ts'
import { changeAmongOthers, changeRollout } from '../change-rollout.ts'
import { checkpointAtEnd } from '../checkpoint-at-end.ts'
import type { RolloutsDeps, VerbDeps } from '../deps.ts'
import { refuseBesideEmergency } from '../emergency/beside-emergency.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { recordRolloutAudit, tell } from '../tell.ts'
import { leaveAsTheyAre } from './leave-as-they-are.ts'

type Deps = VerbDeps & Pick<RolloutsDeps, 'requireSnapshots'>

/**
 * The undo of a rollout goes on: boxes that came to rest on their way back are passed over, those that could not be brought back and serve as
 * updated are tried again. It may be repeated. Throws CONFLICT where nothing was to be undone, and beside an emergency, CONFIG.
 */
export const resumeUndo = (deps: Deps, actor: Actor, { id }: Readonly<{ id: string }>): Promise<Rollout> =>
  changeAmongOthers(deps, id, async (tx, rollout, others) => {
    const undone = await undosOf(tx, rollout)
    deps.requireSnapshots()
    refuseBesideEmergency(rollout, others, 'boxes are brought back afterwards')
    const atRest = undone.filter(isRollbackStalled)
    const again = undone.filter(({ status, undo }) => status === 'succeeded' && undo?.status === 'failed')
    if (atRest.length + again.length === 0) return []
    for (const action of atRest) await change(deps, tx, rollout, action, { ...action, waived: true })
    for (const action of again) await change(deps, tx, rollout, action, { ...action, undo: action.undo && { ...action.undo, ...pending } })
    const data = { leftAtRest: slugsOf(atRest), triedAgain: slugsOf(again) }
    await recordRolloutAudit(tx, deps.clock, rollout, { actor, action: 'rollout.undo.resumed', data })
    return []
  })

const pending = { status: 'pending', error: null } as const

/** No further box is brought back; those on their way finish. It may be repeated. Throws CONFLICT where nothing was to be undone. */
export const stopUndo = (deps: VerbDeps, actor: Actor, { id, reason }: Readonly<{ id: string; reason: string }>): Promise<Rollout> =>
  changeRollout(deps, id, async (tx, rollout) => {
    await undosOf(tx, rollout)
    const leftAsTheyAre = await leaveAsTheyAre(tx, deps.clock, rollout, `left as it is by ${actorLabel(actor)}: ${reason}`)
    if (leftAsTheyAre.length === 0) return
    await checkpointAtEnd(tx, deps.clock, rollout)
    await recordRolloutAudit(tx, deps.clock, rollout, { actor, action: 'rollout.undo.stopped', data: { reason, leftAsTheyAre } })
  })

async function undosOf(tx: Tx, { id, status }: StoredRollout): Promise<StoredAction[]> {
  const undone = (await actionsOf(tx, id)).filter(({ undo }) => undo !== null)
  if (undone.length > 0) return undone
  const instead = isOver(status)
    ? '`tenantry snapshots restore <slug> --snapshot <id> --reason <why>` brings back single ones'
    : `\`tenantry rollouts rollback ${id} --boxes …\` asks for that`
  throw problem('CONFLICT', `the rollout ${id} is ${status} and none of its boxes are being brought back: ${instead}`)
}

const slugsOf = (actions: readonly StoredAction[]): string[] => actions.map(({ tenantSlug }) => tenantSlug)

async function change({ clock }: VerbDeps, tx: Tx, rollout: StoredRollout, before: StoredAction, after: StoredAction): Promise<void> {
  await replaceAction(tx, before, after)
  await tell(tx, clock, rollout, { type: 'rollout.action', action: after })
}
