import { isoNow, problem } from '../../../core/kit/index.ts'
import { isOver, planRollback as plan, type RollbackMode, type RollbackPlan, transition } from '../../../core/rollouts/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import type { RolloutsDeps } from '../deps.ts'
import { fixesAround } from '../emergency/emergencies.repo.ts'
import { knownBoxes } from '../known-boxes.ts'
import { rolloutById, type StoredRollout } from '../rollouts.repo.ts'
import { completedUpdates } from './completed-updates.repo.ts'

export type RollbackDeps = Pick<RolloutsDeps, 'clock' | 'staleAfterMs' | 'offlineAfterMs' | 'schemas' | 'daemonVersion' | 'windows'>

type Input = Readonly<{ id: string; boxes: RollbackMode }>

/**
 * Which updated boxes could be rolled back, how, and which data they would lose; stores nothing. Throws NOT_FOUND, and INVALID_TRANSITION
 * for a rollout that cannot be rolled back.
 */
export async function planRollback(deps: RollbackDeps & Pick<RolloutsDeps, 'db'>, { id, boxes }: Input): Promise<RollbackPlan> {
  const rollout = await rolloutById(deps.db, id)
  assertNotFinished(rollout)
  transition(rollout, { type: 'rollback', reason: 'preview', at: isoNow(deps.clock) })
  return rollbackPlanOf({ ...deps, db: deps.db }, rollout, boxes)
}

/** The same in the transaction that acts upon the plan. */
export async function rollbackPlanOf(
  { db, ...deps }: RollbackDeps & Readonly<{ db: DbOrTx }>,
  rollout: StoredRollout,
  mode: RollbackMode,
): Promise<RollbackPlan> {
  const { staleAfterMs, schemas, daemonVersion } = deps
  return plan({
    rolloutId: rollout.id,
    mode,
    updates: await completedUpdates(db, { rolloutId: rollout.id }),
    fixes: await fixesAround(db, rollout),
    boxes: new Map((await knownBoxes(deps, db)).map((box) => [box.slug, box])),
    now: isoNow(deps.clock),
    staleAfterMs,
    schemas,
    daemonVersion,
  })
}

/** Throws INVALID_TRANSITION for a finished rollout, with what can be done instead. */
export function assertNotFinished({ id, status }: Pick<StoredRollout, 'id' | 'status'>): void {
  if (!isOver(status)) return
  const state =
    status === 'rolled_back'
      ? `is already rolled back. \`tenantry rollouts rollback ${id} --resume\` retries boxes whose rollback failed. fix: restore any single box`
      : `is finished (${status}). fix: restore single boxes`
  throw problem(
    'INVALID_TRANSITION',
    `rollout ${id} ${state} with \`tenantry snapshots restore <slug> --snapshot <id> --reason <why>\` ` +
      '(`tenantry snapshots list --slug <slug>` lists the snapshots from before the update)',
  )
}
