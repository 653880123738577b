import { type Actor, actorLabel, isoNow, problem } from '../../core/kit/index.ts'
import { type Rollout, type RolloutMove, transition } from '../../core/rollouts/index.ts'
import { requestCheckpoint } from '../audit/index.ts'
import { cancelPending } from './actions.repo.ts'
import { changeRollout } from './change-rollout.ts'
import type { VerbNeeds } from './needs.ts'
import { replaceRollout } from './rollouts.repo.ts'
import { streamOf, tell, writeDown } from './tell.ts'

/** Ends it as `failed`. Tenants under way finish and are recorded; the others are cancelled. Throws INVALID_TRANSITION. */
export function abortRollout(
  needs: VerbNeeds,
  actor: Actor,
  { id, reason }: { id: string; reason?: string | undefined },
): Promise<Rollout> {
  const error = reason ?? `aborted by ${actorLabel(actor)}`
  return endRollout(needs, actor, id, { type: 'fail', error, at: isoNow(needs.clock) }, error)
}

type Rollback = Readonly<{ id: string; reason: string; boxes: 'none' | 'images' | 'snapshot' }>

/** Ends it as `rolled_back`. Boxes that are updated stay so: undoing them is not possible yet and is refused with VALIDATION. */
export async function rollbackRollout(needs: VerbNeeds, actor: Actor, { id, reason, boxes }: Rollback): Promise<Rollout> {
  if (boxes !== 'none') {
    const why = `"${boxes}" is not possible yet: only "none", which ends the rollout and leaves updated boxes as they are`
    throw problem('VALIDATION', `boxes: ${why}`, { details: [{ path: 'boxes', reason: why }] })
  }
  return endRollout(needs, actor, id, { type: 'rollback', reason, at: isoNow(needs.clock) }, reason)
}

const endRollout = (needs: VerbNeeds, actor: Actor, id: string, move: RolloutMove, reason: string): Promise<Rollout> =>
  changeRollout(needs, id, async (tx, rollout) => {
    const { clock } = needs
    const ended = transition(rollout, move)
    const type = move.type === 'fail' ? 'rollout.failed' : 'rollout.rolled_back'
    await replaceRollout(tx, rollout, ended)
    const cancelled = await cancelPending(tx, id)
    await requestCheckpoint(tx, clock, { chain: streamOf(id) })
    await tell(tx, clock, ended, { type, reason })
    await writeDown(tx, clock, ended, { actor, action: type, data: { reason, cancelled } })
  })
