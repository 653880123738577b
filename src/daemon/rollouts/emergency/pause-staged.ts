import { type Actor, type Clock, isoNow } from '../../../core/kit/index.ts'
import { explainEmergencyPause, phaseOf, transition } from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import { replaceRollout, type StoredRollout } from '../rollouts.repo.ts'
import { recordRolloutAudit, tell } from '../tell.ts'

/** What was paused, and how to write it down once everything has been told. */
type Paused = Readonly<{ ids: readonly string[]; recordRolloutAudit(actor: Actor): Promise<void> }>

/**
 * Pauses every staged rollout that runs; its boxes under way finish, and the emergency waits for them one by one. The rollouts are locked
 * already.
 */
export async function pauseStaged(tx: Tx, clock: Clock, emergency: StoredRollout, others: readonly StoredRollout[]): Promise<Paused> {
  const running = others.filter((other) => other.kind === 'staged' && phaseOf(other))
  const reason = explainEmergencyPause(emergency.id, emergency.cveId)
  for (const rollout of running) {
    const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, paused)
    await tell(tx, clock, paused, { type: 'rollout.paused', reason })
  }
  return {
    ids: running.map(({ id }) => id),
    recordRolloutAudit: async (actor) => {
      for (const rollout of running)
        await recordRolloutAudit(tx, clock, rollout, { actor, action: 'rollout.paused', data: { reason, emergency: emergency.id } })
    },
  }
}
