import { type Actor, isoNow, problem } from '../../core/kit/index.ts'
import { isBaking, isHeld, type Phase, type Rollout, rolloutWord, transition } from '../../core/rollouts/index.ts'
import { changeWithOpenRolloutsLocked } from './change-rollout.ts'
import type { RolloutsDeps, VerbDeps } from './deps.ts'
import { assertNoEmergencyBeside } from './emergency/assert-no-emergency.ts'
import { enterNextPhase } from './engine/phase.ts'
import { closeRolloutAlerts, publishEvent, type RolloutTx, recordRolloutAudit } from './publish.ts'
import { replaceRollout, type StoredRollout } from './rollouts.repo.ts'

type Deps = VerbDeps & Pick<RolloutsDeps, 'assertSnapshotsConfigured'>

/**
 * Continues a rollout that is held after a phase, or that bakes one: its next phase begins without the rest of the bake, also where a failing
 * box has stopped it. Throws INVALID_TRANSITION in any other state, CONFIG, and CONFLICT beside an emergency.
 */
export const promoteRollout = (deps: Deps, actor: Actor, { id }: { id: string }): Promise<Rollout> =>
  changeWithOpenRolloutsLocked(deps, id, async ({ tx, clock, rollout, others }) => {
    assertPromotable(rollout)
    deps.assertSnapshotsConfigured()
    assertNoEmergencyBeside(rollout, others)
    const step = { tx, clock, rollout }
    const resumed = rollout.status === 'paused' ? await resume(step) : step
    const promoted = isHeld(rollout) ? resumed : await enterNextPhase(resumed, resumed.rollout.status as Phase)
    const data = { from: rollout.previousStatus ?? rollout.status, to: promoted.rollout.status }
    await recordRolloutAudit(promoted, { actor, action: 'rollout.promoted', data })
    return []
  })

async function resume(step: RolloutTx): Promise<RolloutTx> {
  const { tx, clock, rollout } = step
  const resumed = { ...step, rollout: transition(rollout, { type: 'resume', at: isoNow(clock) }) }
  await replaceRollout(tx, rollout, resumed.rollout)
  await publishEvent(resumed, { type: 'rollout.resumed' })
  await closeRolloutAlerts(resumed, 'resumed')
  return resumed
}

function assertPromotable(rollout: StoredRollout): void {
  const { id, status, pauseReason } = rollout
  if (isHeld(rollout) || isBaking(rollout)) return
  const why = pauseReason === null ? '' : ` (${pauseReason.replace(/\.? Next: .*$/s, '')})`
  throw problem(
    'INVALID_TRANSITION',
    `rollout ${id} is neither held after a phase nor baking: it is ${rolloutWord(status)}${why}. ` +
      `fix: ${status === 'paused' ? `continue it with \`tenantry rollouts resume ${id}\`` : `see \`tenantry rollouts show ${id}\``}`,
  )
}
