import type { Clock } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { actionsOf, replaceAction } from '../actions.repo.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { tell } from '../tell.ts'

/**
 * Boxes of a locked rollout that wait to be brought back stay as they are, each with why; those on their way finish. Answers their slugs. They
 * may be asked for again (`resumeUndo`).
 */
export async function leaveAsTheyAre(tx: Tx, clock: Clock, rollout: StoredRollout, message: string): Promise<string[]> {
  const waiting = (await actionsOf(tx, rollout.id)).filter(({ undo }) => undo?.status === 'pending')
  const error = { code: 'CANCELLED', message }
  for (const action of waiting) {
    const left = { ...action, undo: action.undo && ({ ...action.undo, status: 'failed', error } as const) }
    await replaceAction(tx, action, left)
    await tell(tx, clock, rollout, { type: 'rollout.action', action: left })
  }
  return waiting.map(({ tenantSlug }) => tenantSlug)
}
