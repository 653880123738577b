import type { BoxId } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { isOver } from '../../../core/rollouts/index.ts'
import { releaseHold } from '../../boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import { replaceAction, type StoredAction } from '../actions.repo.ts'
import { checkpointAtEnd } from '../checkpoint-at-end.ts'
import type { RolloutsDeps } from '../deps.ts'
import { untried } from '../queue-rollout.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { engineActor, recordRolloutAudit, streamOf, tell } from '../tell.ts'
import { closeAttempt } from './close-attempt.ts'

/**
 * Its images took so long that the window closes too soon for the update: the box is given back untouched and waits for the next one, where
 * the images are there already. Of a rollout that is over it is not tried again.
 */
export async function putOff(
  tx: Tx,
  { clock }: Pick<RolloutsDeps, 'clock'>,
  rollout: StoredRollout,
  action: StoredAction,
): Promise<undefined> {
  // Its rollout may have been rolled back with its boxes meanwhile: this one was not updated, and there is nothing to bring back.
  const waiting: StoredAction = { ...action, ...untried, undo: null, status: isOver(rollout.status) ? 'cancelled' : 'pending' }
  const error = { code: 'WINDOW_CLOSES', message: 'getting the images took until shortly before its maintenance window closes' }
  await replaceAction(tx, action, waiting)
  const evidence = await closeAttempt(tx, action, { status: 'cancelled', error, finishedAt: isoNow(clock) }, null)
  await releaseHold(tx, { boxId: action.boxId as BoxId, holder: streamOf(rollout.id) })
  await tell(tx, clock, rollout, { type: 'rollout.action', action: waiting })
  await checkpointAtEnd(tx, clock, rollout)
  const data = { slug: action.tenantSlug, attempt: action.attempt, error, evidence }
  await recordRolloutAudit(tx, clock, rollout, { actor: engineActor, action: 'rollout.action.put_off', data })
}
