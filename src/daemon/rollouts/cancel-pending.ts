import type { Clock } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { cancelAllPending } from './actions.repo.ts'
import type { StoredRollout } from './rollouts.repo.ts'
import { tell, toldAtEnd } from './tell.ts'

/**
 * What had not begun when its rollout ends never will, and each box is told of, all of them together. The rollout is told as it was: its end comes
 * last, for whoever follows it leaves then. Answers the slugs.
 */
export async function cancelPending(tx: Tx, clock: Clock, rollout: StoredRollout): Promise<string[]> {
  const cancelled = await cancelAllPending(tx, rollout.id)
  await toldAtEnd(tx, rollout.id, async () => {
    for (const action of cancelled) await tell(tx, clock, rollout, { type: 'rollout.action', action })
  })
  return cancelled.map(({ tenantSlug }) => tenantSlug)
}
