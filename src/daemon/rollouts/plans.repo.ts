import { problem } from '../../core/kit/index.ts'
import type { RolloutPlan } from '../../core/rollouts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'

// A plan of thousands of boxes is megabytes. It lies beside its rollout, whose row is read and written at every step.

export async function insertPlan(tx: Tx, rolloutId: string, plan: RolloutPlan): Promise<void> {
  await tx
    .insertInto('rollout_plans')
    .values({ rollout_id: rolloutId, plan: JSON.stringify(plan) })
    .execute()
}

/** Throws NOT_FOUND. */
export async function planOf(db: DbOrTx, rolloutId: string): Promise<RolloutPlan> {
  const row = await db.selectFrom('rollout_plans').select('plan').where('rollout_id', '=', rolloutId).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `there is no plan of a rollout ${rolloutId}: \`tenantry rollouts list\` shows all`)
  return JSON.parse(row.plan)
}
