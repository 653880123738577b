import { type DbOrTx, prepared } from '../../db/index.ts'
import type { StoredRollout } from '../rollouts.repo.ts'

/** The last emergency that updated the box since this rollout was planned; null where none did. Emergencies are few, actions are not. */
export async function emergencySince(db: DbOrTx, { createdAt }: StoredRollout, boxId: string): Promise<string | null> {
  const { rows: emergencies } = await allEmergencies(db, {})
  if (emergencies.length === 0) return null
  const row = await db
    .selectFrom('rollout_actions')
    .select('rollout_id')
    .where(
      'rollout_id',
      'in',
      emergencies.map(({ id }) => id),
    )
    .where('slug', '=', (query) => query.selectFrom('boxes').select('slug').where('id', '=', boxId))
    .where('box_id', '=', boxId)
    .where('status', '=', 'succeeded')
    .where('finished_at', '>=', createdAt)
    .orderBy('finished_at', 'desc')
    .executeTakeFirst()
  return row?.rollout_id ?? null
}

const allEmergencies = prepared<Record<never, never>, { id: string }>((db) =>
  db.selectFrom('rollouts').select('id').where('kind', '=', 'emergency_cve'),
)
