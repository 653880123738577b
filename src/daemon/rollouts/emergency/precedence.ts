import { type Actor, isoNow, problem } from '../../../core/kit/index.ts'
import { explainEmergencyPause, explainEmergencyStop, isAtTarget, isOver, phaseOf, transition } from '../../../core/rollouts/index.ts'
import { boxesInScope, slugsRebuiltFromSnapshot } from '../../boxes/index.ts'
import { slugsBeingRestored } from '../../snapshots/index.ts'
import { actionsOf, type StoredAction } from '../actions.repo.ts'
import type { AmongOthersTx } from '../change-rollout.ts'
import { slugsInFlight } from '../open-rollouts.repo.ts'
import { publishEvent, type RolloutTx, recordRolloutAudit, updateAction } from '../publish.ts'
import { cancelRollbacks } from '../rollback/resume-rollback.ts'
import { replaceRollout, type StoredRollout } from '../rollouts.repo.ts'

/** An emergency is started by persons with the role admin only, as it is created. Throws FORBIDDEN. */
export function assertEmergencyRole(actor: Actor): void {
  if (actor.kind === 'token')
    throw problem('FORBIDDEN', 'API tokens may not start an emergency. fix: log in as a person with the role admin')
  if (actor.kind === 'admin' && actor.role !== 'admin')
    throw problem('FORBIDDEN', `starting an emergency needs the role admin; ${actor.name} has the role ${actor.role}`)
}

/** The other rollouts that were changed; their audit entries are recorded at the end of the transaction. */
type Changed = Readonly<{ ids: readonly string[]; recordAudits(actor: Actor): Promise<void> }>

/** Pauses every running staged rollout. Its boxes in flight finish, and the emergency waits for each of them. */
export async function pauseStaged({ tx, clock, rollout: emergency, others }: AmongOthersTx): Promise<Changed> {
  const running = others.filter((other) => other.kind === 'staged' && phaseOf(other))
  const reason = explainEmergencyPause(emergency.id, emergency.cveId)
  for (const rollout of running) {
    const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, paused)
    await publishEvent({ tx, clock, rollout: paused }, { type: 'rollout.paused', reason })
  }
  const data = { reason, emergency: emergency.id }
  return {
    ids: running.map(({ id }) => id),
    recordAudits: async (actor) => {
      for (const rollout of running) await recordRolloutAudit({ tx, clock, rollout }, { actor, action: 'rollout.paused', data })
    },
  }
}

/** Cancels the pending rollbacks of all rollouts: the emergency would count those boxes as fixed although they are about to leave its versions. */
export async function stopRollbacks({ tx, clock, rollout: emergency, others }: AmongOthersTx): Promise<Changed> {
  const reason = explainEmergencyStop(emergency.id, emergency.cveId)
  const stopped: { rollout: StoredRollout; leftAsTheyAre: readonly string[] }[] = []
  for (const rollout of others) {
    if (!isOver(rollout.status)) continue
    const leftAsTheyAre = await cancelRollbacks({ tx, clock, rollout }, reason)
    if (leftAsTheyAre.length > 0) stopped.push({ rollout, leftAsTheyAre })
  }
  return {
    ids: stopped.map(({ rollout }) => rollout.id),
    recordAudits: async (actor) => {
      for (const { rollout, leftAsTheyAre } of stopped) {
        const data = { reason, leftAsTheyAre, emergency: emergency.id }
        await recordRolloutAudit({ tx, clock, rollout }, { actor, action: 'rollout.rollback.stopped', data })
      }
    },
  }
}

/**
 * Boxes that were at the versions of the emergency when it was created are skipped. This includes those again that were rolled back or
 * restored since, and those that another rollout, a restore or a move changes now: their update may still fail. Answers the slugs.
 */
export async function includeBoxesBehind(step: RolloutTx): Promise<string[]> {
  const { tx, rollout: emergency } = step
  const skipped = (await actionsOf(tx, emergency.id, ['skipped'])).filter(({ findings }) => findings.length === 0)
  if (skipped.length === 0) return []
  const boxes = new Map((await boxesInScope(tx)).map((box) => [box.slug, box]))
  const changing = new Set([...(await slugsInFlight(tx)), ...(await slugsBeingRestored(tx)), ...(await slugsRebuiltFromSnapshot(tx))])
  const isBehind = ({ tenantSlug, to }: StoredAction): boolean => {
    const box = boxes.get(tenantSlug)
    return box?.managed === true && (changing.has(tenantSlug) || !isAtTarget(box.installed, to))
  }
  const behind = skipped.filter(isBehind)
  for (const action of behind) await updateAction(step, action, { ...action, status: 'pending' })
  return behind.map(({ tenantSlug }) => tenantSlug)
}
