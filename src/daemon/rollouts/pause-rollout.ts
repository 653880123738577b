import { alertOf } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { changeRollout } from './change-rollout.ts'
import type { VerbNeeds } from './needs.ts'
import { replaceRollout } from './rollouts.repo.ts'
import { tell, writeDown } from './tell.ts'

/** Starts no further tenant; those under way finish. Whoever is not looking is told who did it. Throws INVALID_TRANSITION. */
export const pauseRollout = (needs: VerbNeeds, actor: Actor, { id, reason }: { id: string; reason: string }): Promise<Rollout> =>
  changeRollout(needs, id, async (tx, rollout) => {
    const { clock } = needs
    const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, paused)
    await tell(tx, clock, paused, { type: 'rollout.paused', reason })
    await raiseAlert(tx, clock, alertOf.rollout_paused({ rolloutId: id, reason, by: actorLabel(actor) }))
    await writeDown(tx, clock, paused, { actor, action: 'rollout.paused', data: { reason } })
  })
