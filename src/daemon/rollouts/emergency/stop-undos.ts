import type { Actor, Clock } from '../../../core/kit/index.ts'
import { explainEmergencyStop } from '../../../core/rollouts/index.ts'
import type { Tx } from '../../db/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { recordRolloutAudit } from '../tell.ts'
import { leaveAsTheyAre } from '../undo/leave-as-they-are.ts'

/** Which rollouts bring no more boxes back, and how to write it down once everything has been told. */
type Stopped = Readonly<{ ids: readonly string[]; recordRolloutAudit(actor: Actor): Promise<void> }>

/**
 * No box is brought back behind an emergency that begins: it would take those for done that run its versions, and their way back would lead
 * to the hole. The rollouts are locked already.
 */
export async function stopUndos(tx: Tx, clock: Clock, emergency: StoredRollout, others: readonly StoredRollout[]): Promise<Stopped> {
  const reason = explainEmergencyStop(emergency.id, emergency.cveId)
  const stopped: (readonly [StoredRollout, readonly string[]])[] = []
  for (const rollout of others) {
    if (rollout.status !== 'rolled_back') continue
    const left = await leaveAsTheyAre(tx, clock, rollout, reason)
    if (left.length > 0) stopped.push([rollout, left])
  }
  return {
    ids: stopped.map(([{ id }]) => id),
    recordRolloutAudit: async (actor) => {
      for (const [rollout, leftAsTheyAre] of stopped)
        await recordRolloutAudit(tx, clock, rollout, {
          actor,
          action: 'rollout.undo.stopped',
          data: { reason, leftAsTheyAre, emergency: emergency.id },
        })
    },
  }
}
