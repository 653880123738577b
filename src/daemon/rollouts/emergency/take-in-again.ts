import type { Clock } from '../../../core/kit/index.ts'
import { isAtTarget } from '../../../core/rollouts/index.ts'
import { boxesInScope, slugsBroughtBack } from '../../boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import { slugsBeingRestored } from '../../snapshots/index.ts'
import { actionsOf, replaceAction, type StoredAction } from '../actions.repo.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { tell } from '../tell.ts'
import { slugsInFlight } from '../undos-under-way.repo.ts'

/**
 * What ran the versions of the emergency when it was made is passed over, and never looked at again. A box that was brought back or restored
 * since then gets its turn after all, and so does one that another rollout, a restore or a move from a dead host changes now: it may be on its
 * way back, or its update may yet fail and be taken back. Answers the slugs.
 */
export async function takeInAgain(tx: Tx, clock: Clock, emergency: StoredRollout): Promise<string[]> {
  const passedOver = (await actionsOf(tx, emergency.id, ['skipped'])).filter(({ findings }) => findings.length === 0)
  if (passedOver.length === 0) return []
  const boxes = new Map((await boxesInScope(tx)).map((box) => [box.slug, box]))
  const inFlight = new Set([...(await slugsInFlight(tx)), ...(await slugsBeingRestored(tx)), ...(await slugsBroughtBack(tx))])
  const isBehind = ({ tenantSlug, to }: StoredAction): boolean => {
    const box = boxes.get(tenantSlug)
    return box?.managed === true && (inFlight.has(tenantSlug) || !isAtTarget(box.installed, to))
  }
  const behind = passedOver.filter(isBehind)
  for (const action of behind) {
    const pending: StoredAction = { ...action, status: 'pending' }
    await replaceAction(tx, action, pending)
    await tell(tx, clock, emergency, { type: 'rollout.action', action: pending })
  }
  return behind.map(({ tenantSlug }) => tenantSlug)
}
