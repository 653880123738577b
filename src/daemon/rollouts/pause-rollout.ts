import { alertOf } from '../../core/alerts/index.ts'
import { type Actor, actorLabel, isoNow } from '../../core/kit/index.ts'
import { type Rollout, transition } from '../../core/rollouts/index.ts'
import { raiseAlert } from '../alerts/index.ts'
import { changeRollout } from './change-rollout.ts'
import type { VerbDeps } from './deps.ts'
import { replaceRollout } from './rollouts.repo.ts'
import { recordRolloutAudit, tell } from './tell.ts'

/** Starts no further tenant; those under way finish. Whoever is not looking is told who did it. Throws INVALID_TRANSITION. */
export const pauseRollout = (deps: VerbDeps, actor: Actor, { id, reason }: { id: string; reason: string }): Promise<Rollout> =>
  changeRollout(deps, id, async (tx, rollout) => {
    const { clock } = deps
    const paused = transition(rollout, { type: 'pause', reason, at: isoNow(clock) })
    await replaceRollout(tx, rollout, paused)
    await tell(tx, clock, paused, { type: 'rollout.paused', reason })
    await raiseAlert(tx, clock, alertOf.rollout_paused({ rolloutId: id, reason, by: actorLabel(actor) }))
    await recordRolloutAudit(tx, clock, paused, { actor, action: 'rollout.paused', data: { reason } })
  })
