import { type ActionRollback, type ActionStatus, type AttemptEvidence, evidenceOf, type Phase } from '../../core/rollouts/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { actionOf, type StoredAction } from './actions.repo.ts'
import { attemptOf } from './attempts.repo.ts'
import { streamOf } from './publish.ts'

/** The audit entries about the rollout itself, without those of single boxes; oldest first. */
export async function auditOf(db: DbOrTx, rolloutId: string) {
  const rows = await db
    .selectFrom('audit')
    .select(['at', 'actor', 'action', 'data'])
    .where('chain', '=', streamOf(rolloutId))
    .where('action', 'not like', 'rollout.action.%')
    .orderBy('seq')
    .execute()
  return rows.map(({ data, ...row }) => ({ ...row, data: readable(data) }))
}

/** Null for data that was corrupted; `audit verify` reports it. */
function readable(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return null
  }
}

export type BoxTimes = Readonly<{
  id: string
  slug: string
  phase: Phase
  status: ActionStatus
  rollback: ActionRollback['status'] | null
  startedAt: string | null
  finishedAt: string | null
  durationMs: number | null
  fencedMs: number | null
  expectedFenceMs: number
}>

/** Status and times of every box. */
export async function timesOfBoxes(db: DbOrTx, rolloutId: string): Promise<BoxTimes[]> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select([
      'id',
      'slug',
      'phase',
      'status',
      'rollback_status',
      'started_at',
      'finished_at',
      'duration_ms',
      'fenced_ms',
      'expected_fence_ms',
    ])
    .where('rollout_id', '=', rolloutId)
    .orderBy('slug')
    .execute()
  const ms = (value: number | null) => (value === null ? null : Number(value))
  return rows.map(
    ({ duration_ms, fenced_ms, expected_fence_ms, rollback_status, started_at: startedAt, finished_at: finishedAt, ...row }) => {
      const fences = { fencedMs: ms(fenced_ms), expectedFenceMs: Number(expected_fence_ms) }
      return { ...row, rollback: rollback_status, startedAt, finishedAt, durationMs: ms(duration_ms), ...fences }
    },
  )
}

/** The steps of each attempt at an update, without those at a rollback. */
export async function stepsOfUpdates(db: DbOrTx, rolloutId: string) {
  const rows = await db
    .selectFrom('rollout_attempts')
    .select(['action_id', 'steps'])
    .where('rollout_id', '=', rolloutId)
    .where('kind', '=', 'update')
    .execute()
  return rows.map(({ action_id, steps }) => ({
    actionId: action_id,
    steps: JSON.parse(steps) as { step: string; durationMs: number | null }[],
  }))
}

/** When each attempt at a rollback began and ended. */
export async function rollbackAttempts(db: DbOrTx, rolloutId: string) {
  const rows = await db
    .selectFrom('rollout_attempts')
    .select(['action_id', 'started_at', 'finished_at'])
    .where('rollout_id', '=', rolloutId)
    .where('kind', '!=', 'update')
    .execute()
  return rows.map(({ action_id: actionId, started_at: startedAt, finished_at: finishedAt }) => ({ actionId, startedAt, finishedAt }))
}

/** How long each box was fenced in all its attempts, rollbacks included. The action stores only the last attempt. */
export async function fencesOfAttempts(db: DbOrTx, rolloutId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('rollout_attempts')
    .select((select) => ['action_id', select.fn.sum('fenced_ms').as('fenced_ms')])
    .where('rollout_id', '=', rolloutId)
    .groupBy('action_id')
    .execute()
  return new Map(rows.flatMap(({ action_id, fenced_ms }) => (fenced_ms === null ? [] : [[action_id, Number(fenced_ms)]])))
}

export async function actionsByIds(db: DbOrTx, ids: readonly string[]): Promise<StoredAction[]> {
  const rows = await db
    .selectFrom('rollout_actions')
    .selectAll()
    .where('id', 'in', ids.length > 0 ? [...ids] : [''])
    .execute()
  return rows.map(actionOf).toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
}

type Page = Readonly<{ limit: number; after?: Readonly<{ actionId: string; attempt: number }> | undefined }>

/** The evidence of ended attempts, by action and attempt. */
export async function evidencePage(db: DbOrTx, rolloutId: string, { limit, after }: Page): Promise<AttemptEvidence[]> {
  let query = db
    .selectFrom('rollout_attempts as attempt')
    .innerJoin('rollout_actions as action', 'action.id', 'attempt.action_id')
    .selectAll('attempt')
    .select('action.slug')
    .where('attempt.rollout_id', '=', rolloutId)
    .where('attempt.finished_at', 'is not', null)
    .orderBy('attempt.action_id')
    .orderBy('attempt.attempt')
    .limit(limit)
  if (after)
    query = query.where((where) =>
      where.or([
        where('attempt.action_id', '>', after.actionId),
        where.and([where('attempt.action_id', '=', after.actionId), where('attempt.attempt', '>', after.attempt)]),
      ]),
    )
  const rows = await query.execute()
  return rows.map(({ slug, ...row }) => evidenceOf({ rolloutId, tenantSlug: slug }, attemptOf(row)))
}
