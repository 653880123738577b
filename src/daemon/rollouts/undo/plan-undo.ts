import { isoNow } from '../../../core/kit/index.ts'
import { planUndo as plan, transition, type UndoMode, type UndoPlan } from '../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { fixesAround } from '../emergency/fixes.repo.ts'
import { knownBoxes } from '../known-boxes.ts'
import type { RolloutsNeeds } from '../needs.ts'
import { rolloutById, type StoredRollout } from '../rollouts.repo.ts'
import { doneUpdates } from './done-updates.ts'
import { refuseEnded } from './refuse-ended.ts'

export type UndoNeeds = Pick<RolloutsNeeds, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'schemas' | 'daemonVersion' | 'windows'>

/**
 * Which updated boxes could be brought back, how, and what they would lose; stores nothing. Throws NOT_FOUND, and INVALID_TRANSITION for a
 * rollout that cannot be rolled back: nobody should read a plan and decide, only to be told then.
 */
export async function planUndo(
  needs: UndoNeeds & Pick<RolloutsNeeds, 'db'>,
  { id, boxes }: Readonly<{ id: string; boxes: UndoMode }>,
): Promise<UndoPlan> {
  const rollout = await rolloutById(needs.db, id)
  refuseEnded(rollout)
  transition(rollout, { type: 'rollback', reason: 'as it would be', at: isoNow(needs.clock) })
  return undoPlanOf(needs, needs.db, rollout, boxes)
}

/** The same in the transaction that acts upon it. */
export async function undoPlanOf(needs: UndoNeeds, db: DbOrTx, rollout: StoredRollout, mode: UndoMode): Promise<UndoPlan> {
  const { staleAfterMs, schemas, daemonVersion } = needs
  return plan({
    rolloutId: rollout.id,
    mode,
    updates: await doneUpdates(db, { rolloutId: rollout.id }),
    fixes: await fixesAround(db, rollout),
    boxes: new Map((await knownBoxes(needs, db)).map((box) => [box.slug, box])),
    now: isoNow(needs.clock),
    staleAfterMs,
    schemas,
    daemonVersion,
  })
}
