import { type DbOrTx, prepared } from '../../db/index.ts'
import { rolloutNotFound, type StoredRollout } from '../rollouts.repo.ts'

/** Of a rollout what a look at it decides by. What it brings is long, and read where it is brought. */
export type RolloutInSight = Pick<StoredRollout, 'id' | 'kind' | 'status' | 'failureThreshold' | 'holdAfter' | 'ignoreWindows'>

/** Throws NOT_FOUND. */
export async function rolloutInSight(db: DbOrTx, id: string): Promise<RolloutInSight> {
  const [row] = (await inSight(db, { id })).rows
  if (!row) throw rolloutNotFound(id)
  const { kind, status, failure_threshold: failureThreshold, hold_after: holdAfter, ignore_windows: ignores } = row
  return { id, kind, status, failureThreshold, holdAfter, ignoreWindows: ignores === 1 }
}

type Row = Readonly<
  Pick<RolloutInSight, 'kind' | 'status'> & {
    failure_threshold: number
    hold_after: RolloutInSight['holdAfter']
    ignore_windows: number
  }
>

const inSight = prepared<{ id: string }, Row>((db, place) =>
  db.selectFrom('rollouts').select(['kind', 'status', 'failure_threshold', 'hold_after', 'ignore_windows']).where('id', '=', place('id')),
)
