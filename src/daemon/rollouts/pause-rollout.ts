import { type Actor, isoNow } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import { changeRollout } from './change-rollout.ts'
import type { VerbNeeds } from './needs.ts'
import { replaceRollout } from './rollouts.repo.ts'
import { tell, writeDown } from './tell.ts'

/** Starts no further tenant; those under way finish. Throws INVALID_TRANSITION. */
export const pauseRollout = (needs: VerbNeeds, actor: Actor, { id, reason }: { id: string; reason: string }): Promise<Rollout> =>
  changeRollout(needs, id, async (tx, rollout) => {
    const { clock } = needs
    const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, paused)
    await tell(tx, clock, paused, { type: 'rollout.paused', reason })
    await writeDown(tx, clock, paused, { actor, action: 'rollout.paused', data: { reason } })
  })
