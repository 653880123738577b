import { isoNow } from '../../../core/kit/index.ts'
import { planRollback as plan, type RollbackMode, type RollbackPlan, transition } from '../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import { fixesAround } from '../emergency/fixes.repo.ts'
import { knownBoxes } from '../known-boxes.ts'
import { rolloutById, type StoredRollout } from '../rollouts.repo.ts'
import { doneUpdates } from './done-updates.ts'
import { refuseEnded } from './refuse-ended.ts'

export type UndoDeps = Pick<RolloutsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'schemas' | 'daemonVersion' | 'windows'>

/**
 * Which updated boxes could be brought back, how, and what they would lose; stores nothing. Throws NOT_FOUND, and INVALID_TRANSITION for a
 * rollout that cannot be rolled back: nobody should read a plan and decide, only to be told then.
 */
export async function planUndo(
  deps: UndoDeps & Pick<RolloutsDeps, 'db'>,
  { id, boxes }: Readonly<{ id: string; boxes: RollbackMode }>,
): Promise<RollbackPlan> {
  const rollout = await rolloutById(deps.db, id)
  refuseEnded(rollout)
  transition(rollout, { type: 'rollback', reason: 'as it would be', at: isoNow(deps.clock) })
  return undoPlanOf(deps, deps.db, rollout, boxes)
}

/** The same in the transaction that acts upon it. */
export async function undoPlanOf(deps: UndoDeps, db: DbOrTx, rollout: StoredRollout, mode: RollbackMode): Promise<RollbackPlan> {
  const { staleAfterMs, schemas, daemonVersion } = deps
  return plan({
    rolloutId: rollout.id,
    mode,
    updates: await doneUpdates(db, { rolloutId: rollout.id }),
    fixes: await fixesAround(db, rollout),
    boxes: new Map((await knownBoxes(deps, db)).map((box) => [box.slug, box])),
    now: isoNow(deps.clock),
    staleAfterMs,
    schemas,
    daemonVersion,
  })
}
