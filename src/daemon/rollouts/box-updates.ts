import type { BoxUpdate } from '../../core/rollouts/index.ts'
import { existingBox } from '../boxes/index.ts'
import type { Db } from '../db/index.ts'
import { parseJson } from './action-row.ts'

const maxUpdates = 50

/** The newest attempts of all rollouts on one box, newest first. Throws NOT_FOUND. */
export async function listBoxUpdates({ db }: Readonly<{ db: Db }>, { slug }: { slug: string }): Promise<BoxUpdate[]> {
  const { id } = await existingBox(db, slug)
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollout_attempts as attempt', 'attempt.action_id', 'action.id')
    .select(['action.rollout_id', 'action.from_versions', 'action.to_versions'])
    .select(['attempt.kind', 'attempt.attempt', 'attempt.status', 'attempt.started_at', 'attempt.finished_at'])
    .select(['attempt.duration_ms', 'attempt.error'])
    .where('action.box_id', '=', id)
    .orderBy('attempt.started_at', 'desc')
    .limit(maxUpdates)
    .execute()
  return rows.map((row) => ({
    rolloutId: row.rollout_id,
    kind: row.kind,
    attempt: row.attempt,
    status: row.status,
    from: JSON.parse(row.from_versions),
    to: JSON.parse(row.to_versions),
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    durationMs: row.duration_ms === null ? null : Number(row.duration_ms),
    error: parseJson(row.error),
  }))
}
