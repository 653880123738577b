import type { BoxId } from '../../../core/boxes/index.ts'
import { isoIn, isProblem } from '../../../core/kit/index.ts'
import type { ActionError, KnownBox } from '../../../core/rollouts/index.ts'
import { holdBox, releaseHold } from '../../boxes/index.ts'
import { streamOf } from '../publish.ts'
import type { ActionTx, EngineTx } from './under-lease.ts'

/** Beyond the deadline of the action: its update may still run until the agent reports the end. */
const holdMarginMs = 24 * 60 * 60_000

/** Takes or extends the hold of a box for the rollout. Answers false if another owner holds the box. */
export async function holdForRollout({ tx, clock, deps, rollout }: EngineTx, boxId: string): Promise<boolean> {
  const until = isoIn(clock, deps.settings.actionDeadlineMs + holdMarginMs)
  try {
    await holdBox(tx, clock, { boxId: boxId as BoxId, holder: streamOf(rollout.id), until })
    return true
  } catch (error) {
    if (!isProblem(error, 'BOX_HELD')) throw error
    return false
  }
}

/**
 * Extends the hold before the box is stopped. Answers an error where the rollout no longer owns it: after a forced release, or after
 * the hold expired, another rollout may have changed the box since its preflight, also where no one holds it now.
 */
export async function extendHold(step: EngineTx, { slug, boxId }: Pick<KnownBox, 'slug' | 'boxId'>): Promise<ActionError | undefined> {
  const hold = await step.tx.selectFrom('box_holds').select('holder').where('box_id', '=', boxId).executeTakeFirst()
  if (!hold) return lostHold(`the hold of ${slug} was released after its preflight, so the box may have changed since`)
  if (hold.holder === streamOf(step.rollout.id) && (await holdForRollout(step, boxId))) return undefined
  return lostHold(`${slug} is on hold for ${hold.holder.replace(':', ' ')} now`)
}

const lostHold = (reason: string): ActionError => ({
  code: 'BOX_HELD',
  message: `${reason}. Nothing was stopped. Retry when the box is free`,
})

/** Releases the hold if the rollout still owns it. */
export const releaseBox = ({ tx, rollout, action }: ActionTx): Promise<void> =>
  releaseHold(tx, { boxId: action.boxId as BoxId, holder: streamOf(rollout.id) })
