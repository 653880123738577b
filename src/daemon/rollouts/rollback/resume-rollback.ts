import { type Actor, actorLabel, problem } from '../../../core/kit/index.ts'
import { isRollbackStalled, type Rollout } from '../../../core/rollouts/index.ts'
import { actionsOf, type StoredAction } from '../actions.repo.ts'
import { changeRollout, changeWithOpenRolloutsLocked } from '../change-rollout.ts'
import type { RolloutsDeps, VerbDeps } from '../deps.ts'
import { assertNoEmergencyBeside } from '../emergency/assert-no-emergency.ts'
import { checkpointWhenFinished, type RolloutTx, recordRolloutAudit, updateAction } from '../publish.ts'

type Deps = VerbDeps & Pick<RolloutsDeps, 'assertSnapshotsConfigured'>

/**
 * Continues a stalled rollback: boxes whose rollback left them stopped are skipped, those whose rollback failed and that serve as updated are
 * retried. The call may be repeated. Throws CONFLICT where no rollback of boxes was requested, and beside an emergency; CONFIG.
 */
export const resumeRollback = (deps: Deps, actor: Actor, { id }: Readonly<{ id: string }>): Promise<Rollout> =>
  changeWithOpenRolloutsLocked(deps, id, async (step) => {
    const actions = await rollbacksOf(step)
    deps.assertSnapshotsConfigured()
    assertNoEmergencyBeside(step.rollout, step.others, 'boxes are rolled back after it')
    const stalled = actions.filter(isRollbackStalled)
    const failed = actions.filter(({ status, rollback }) => status === 'succeeded' && rollback?.status === 'failed')
    if (stalled.length + failed.length === 0) return []
    for (const action of stalled) await updateAction(step, action, { ...action, waived: true })
    for (const action of failed)
      await updateAction(step, action, { ...action, rollback: action.rollback && { ...action.rollback, ...pending } })
    const data = { leftAtRest: slugsOf(stalled), triedAgain: slugsOf(failed) }
    await recordRolloutAudit(step, { actor, action: 'rollout.rollback.resumed', data })
    return []
  })

const pending = { status: 'pending', error: null } as const

/** Rolls no further box back; those in flight finish. The call may be repeated. Throws CONFLICT where no rollback of boxes was requested. */
export const stopRollback = (deps: VerbDeps, actor: Actor, { id, reason }: Readonly<{ id: string; reason: string }>): Promise<Rollout> =>
  changeRollout(deps, id, async (step) => {
    await rollbacksOf(step)
    const leftAsTheyAre = await cancelRollbacks(step, `rollback stopped by ${actorLabel(actor)}: ${reason}`)
    if (leftAsTheyAre.length === 0) return
    await checkpointWhenFinished(step)
    await recordRolloutAudit(step, { actor, action: 'rollout.rollback.stopped', data: { reason, leftAsTheyAre } })
  })

/** Cancels the rollback of every box that waits for it; those in flight finish. `resumeRollback` retries them. Answers their slugs. */
export async function cancelRollbacks(step: RolloutTx, message: string): Promise<string[]> {
  const waiting = (await actionsOf(step.tx, step.rollout.id)).filter(({ rollback }) => rollback?.status === 'pending')
  const error = { code: 'CANCELLED', message }
  for (const action of waiting)
    await updateAction(step, action, { ...action, rollback: action.rollback && ({ ...action.rollback, status: 'failed', error } as const) })
  return slugsOf(waiting)
}

async function rollbacksOf({ tx, rollout: { id, status } }: RolloutTx): Promise<StoredAction[]> {
  const actions = (await actionsOf(tx, id)).filter(({ rollback }) => rollback !== null)
  if (actions.length > 0) return actions
  const start = `tenantry rollouts rollback ${id} --boxes …`
  throw problem('CONFLICT', `rollout ${id} is ${status} and has no rollback of boxes. fix: start one with \`${start}\``)
}

const slugsOf = (actions: readonly StoredAction[]): string[] => actions.map(({ tenantSlug }) => tenantSlug)
