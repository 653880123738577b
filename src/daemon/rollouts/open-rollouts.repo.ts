import { sql } from 'kysely'
import {
  type ActionRollback,
  ActionStatus,
  type ActiveRollout,
  inFlightStatuses,
  isInFlight,
  isOver,
  phaseOrder,
  RolloutStatus,
} from '../../core/rollouts/index.ts'
import type { DbOrTx } from '../db/index.ts'

// Which rollouts, actions and rollbacks are not finished, and what they still need.

export const openRollouts = RolloutStatus.options.filter((status) => !isOver(status))
/** Also actions of finished rollouts: the box is being rolled back, or is quarantined until an operator decides. */
export const openActions = ActionStatus.options.filter((status) => isInFlight(status) || status === 'rollback_failed')
/** Boxes that wait for their rollback, and those that are being rolled back. */
export const openRollbacks: readonly ActionRollback['status'][] = ['pending', 'running']

const runningStatuses = [...new Set(Object.values(phaseOrder).flat())]

/** Rollouts that the engine runs: those in a phase, and those with an action in flight or a rollback to come, whatever their status. */
export async function rolloutsToRun(db: DbOrTx): Promise<string[]> {
  // One question for each status: SQLite would build temporary tables for `in` and `union`.
  const inPhase = runningStatuses.map((status) => sql`select id from rollouts where status = ${sql.lit(status)}`)
  const inFlight = inFlightStatuses.map((status) => sql`select rollout_id as id from rollout_actions where status = ${sql.lit(status)}`)
  const toRollBack = sql`select distinct rollout_id as id from rollout_actions where rollback_status = 'pending'`
  const { rows } = await sql<{ id: string }>`${sql.join([...inPhase, ...inFlight, toRollBack], sql` union all `)}`.execute(db)
  return [...new Set(rows.map(({ id }) => id))].sort()
}

/** Rollouts of any kind that are in a phase now. */
export async function rolloutsInPhase(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('rollouts').select('id').where('status', 'in', runningStatuses).orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Staged rollouts that are in a phase now. */
export async function runningStagedRollouts(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('rollouts')
    .select('id')
    .where('kind', '=', 'staged')
    .where('status', 'in', phaseOrder.staged)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Selects the rollouts with boxes whose rollback waits or runs. */
export const withRollbacks = (db: DbOrTx, statuses: readonly ActionRollback['status'][] = openRollbacks) =>
  db.selectFrom('rollout_actions').select('rollout_id').where('rollback_status', 'in', statuses)

/** Rollouts with boxes that wait for their rollback. */
export async function rolloutsWithPendingRollbacks(db: DbOrTx): Promise<string[]> {
  const rows = await withRollbacks(db, ['pending']).distinct().orderBy('rollout_id').execute()
  return rows.map(({ rollout_id }) => rollout_id)
}

const claimingActions = ActionStatus.options.filter((status) => status !== 'skipped' && status !== 'cancelled')

/**
 * Rollouts that were started and are not finished, or still roll boxes back, with those of the boxes that they include. A skipped box is not
 * theirs. A box that an unfinished rollout has already updated is: its rollback would change it.
 */
export async function activeRollouts(db: DbOrTx, slugs: readonly string[], except?: string): Promise<ActiveRollout[]> {
  const open = await db
    .selectFrom('rollouts')
    .select(['id', 'status'])
    .where((row) => row.or([row('status', 'in', openRollouts), row('id', 'in', withRollbacks(db))]))
    .where('started_at', 'is not', null)
    .orderBy('id')
    .execute()
  const requested = new Set(slugs)
  const found: ActiveRollout[] = []
  for (const { id, status } of open) {
    if (id === except) continue
    const boxes = await boxesOf(db, id, isOver(status))
    const shared = boxes.filter((slug) => requested.has(slug))
    if (shared.length > 0) found.push({ rolloutId: id, status, slugs: shared })
  }
  return found
}

async function boxesOf(db: DbOrTx, rolloutId: string, isFinished: boolean): Promise<string[]> {
  const boxes = db.selectFrom('rollout_actions').select('slug').where('rollout_id', '=', rolloutId).orderBy('slug')
  const rows = await (isFinished
    ? boxes.where('rollback_status', 'in', openRollbacks)
    : boxes.where('status', 'in', claimingActions)
  ).execute()
  return rows.map(({ slug }) => slug)
}

/** Those of these rollouts that are not finished, or still roll boxes back. */
export async function unfinishedAmong(db: DbOrTx, rolloutIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (rolloutIds.length === 0) return new Set()
  const rows = await db
    .selectFrom('rollouts')
    .select('id')
    .where('id', 'in', rolloutIds)
    .where((row) => row.or([row('status', 'in', openRollouts), row('id', 'in', withRollbacks(db))]))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Slugs of boxes that any rollout updates or rolls back now. */
export async function slugsInFlight(db: DbOrTx): Promise<string[]> {
  const rows = await db.selectFrom('rollout_actions').select('slug').where('status', 'in', inFlightStatuses).execute()
  return rows.map(({ slug }) => slug)
}

/** Commands whose outcome the engine may not have read yet; those of paused rollouts stay unread for the whole pause. */
export async function commandsOfRollouts(db: DbOrTx): Promise<string[]> {
  const waiting = db.selectFrom('rollout_actions as action').select('action.command_id').where('action.command_id', 'is not', null)
  const open = db.selectFrom('rollouts').select('id').where('status', 'in', openRollouts)
  // Each half has its index; one query for both would read every action of every rollout.
  const rows = await waiting
    .where('action.rollout_id', 'in', open)
    .union(waiting.where('action.status', 'in', openActions))
    .execute()
  return rows.map((row) => row.command_id as string)
}

/** Snapshots that a rollback or a decision may still need (SAFETY, Snapshots): those of open rollouts, actions and rollbacks. */
export async function snapshotsOfRollouts(db: DbOrTx, boxIds: readonly string[]): Promise<{ snapshotId: string; neededBy: string }[]> {
  const rows = await db
    .selectFrom('rollout_attempts as attempt')
    .innerJoin('rollout_actions as action', 'action.id', 'attempt.action_id')
    .innerJoin('rollouts as rollout', 'rollout.id', 'attempt.rollout_id')
    .select(['attempt.snapshot_id', 'rollout.id'])
    .where('action.box_id', 'in', boxIds.length > 0 ? boxIds : [''])
    .where('attempt.snapshot_id', 'is not', null)
    .where((where) =>
      where.or([
        where('rollout.status', 'in', openRollouts),
        where('action.status', 'in', openActions),
        where('action.rollback_status', 'in', openRollbacks),
      ]),
    )
    .execute()
  return rows.map(({ snapshot_id, id }) => ({ snapshotId: snapshot_id as string, neededBy: `rollout ${id}` }))
}
