import type { InstalledVersions } from '../../core/boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { actionId } from './actions-ahead.repo.ts'

/**
 * What a box ran before an update of a rollout, told by the id of its command (and so what the snapshot holds that it took); null for any other,
 * and once the box was looked at for another attempt: what it ran by then is all that its action remembers.
 */
export async function versionsBeforeUpdate(db: DbOrTx, commandId: string): Promise<InstalledVersions | null> {
  const [rolloutId = '', slug = '', attempt = ''] = commandId.split('.')
  if (!/^[0-9]+$/.test(attempt)) return null
  const row = await db
    .selectFrom('rollout_attempts as attempt')
    .innerJoin('rollout_actions as action', 'action.id', 'attempt.action_id')
    .select('action.from_versions')
    .where('attempt.action_id', '=', actionId(rolloutId, slug))
    .where('attempt.attempt', '=', Number(attempt))
    .where('attempt.kind', '=', 'update')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('rollout_attempts as later')
            .select('later.attempt')
            .whereRef('later.action_id', '=', 'attempt.action_id')
            .whereRef('later.attempt', '>', 'attempt.attempt')
            .where('later.kind', '=', 'update'),
        ),
      ),
    )
    .executeTakeFirst()
  return row ? JSON.parse(row.from_versions) : null
}
