import { problem } from '../../core/kit/index.ts'
import type {
  ActionCounts,
  ActionError,
  ActionRollback,
  ActionStatus,
  PastRollback,
  PastUpdate,
  RollbackCounts,
  RolloutAction,
} from '../../core/rollouts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import { type ActionRow, actionOf, columnsFor, parseJson, type StoredAction } from './action-row.ts'

export { actionId, actionOf, type StoredAction, untried } from './action-row.ts'

/** The record of the public API. */
export function publicAction({ tier, step, commandId, images, expectedMs, overdueAt, ...shown }: StoredAction): RolloutAction {
  return shown
}

const rowsPerInsert = 500

export async function insertActions(tx: Tx, actions: readonly StoredAction[]): Promise<void> {
  for (let from = 0; from < actions.length; from += rowsPerInsert) {
    const rows = actions.slice(from, from + rowsPerInsert).map((action) => columnsFor(action) as ActionRow)
    await tx.insertInto('rollout_actions').values(rows).execute()
  }
}

/** All actions of a rollout by slug; narrowed to statuses where given. */
export async function actionsOf(db: DbOrTx, rolloutId: string, statuses?: readonly ActionStatus[]): Promise<StoredAction[]> {
  let query = db.selectFrom('rollout_actions').selectAll().where('rollout_id', '=', rolloutId).orderBy('slug')
  if (statuses) query = query.where('status', 'in', [...statuses])
  return (await query.execute()).map(actionOf)
}

/** Throws NOT_FOUND. */
export async function actionBySlug(db: DbOrTx, rolloutId: string, slug: string): Promise<StoredAction> {
  const row = await db
    .selectFrom('rollout_actions')
    .selectAll()
    .where('rollout_id', '=', rolloutId)
    .where('slug', '=', slug)
    .executeTakeFirst()
  if (!row)
    throw problem(
      'NOT_FOUND',
      `rollout ${rolloutId} has no box of ${slug}. fix: list its boxes with \`tenantry rollouts show ${rolloutId}\``,
    )
  return actionOf(row)
}

/** Stores a changed action. Throws CONFLICT when its status or attempt changed since it was read. */
export async function replaceAction(tx: Tx, before: StoredAction, after: StoredAction): Promise<void> {
  const columns = columnsFor(after, before)
  const { numUpdatedRows } = await tx
    .updateTable('rollout_actions')
    .set(Object.keys(columns).length > 0 ? columns : { id: before.id })
    .where('id', '=', before.id)
    .where('status', '=', before.status)
    .where('attempt', '=', before.attempt)
    .executeTakeFirst()
  if (numUpdatedRows === 0n)
    throw problem('CONFLICT', `the action of ${before.tenantSlug} changed in the meantime. fix: read it again and retry`)
}

const countedAs = {
  pending: 'pending',
  preflight: 'running',
  pulling: 'running',
  snapshotting: 'running',
  updating: 'running',
  probing: 'running',
  rolling_back: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  rolled_back: 'rolledBack',
  rollback_failed: 'rollbackFailed',
  skipped: 'skipped',
  cancelled: 'cancelled',
} as const satisfies Record<ActionStatus, keyof ActionCounts>

const noActions: ActionCounts = {
  total: 0,
  pending: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  rolledBack: 0,
  rollbackFailed: 0,
  skipped: 0,
  cancelled: 0,
  leftOut: 0,
  rollback: null,
}
const noRollbacks: RollbackCounts = { total: 0, pending: 0, running: 0, done: 0, failed: 0 }

/** Counts per rollout; of one without actions all are 0. */
export async function countActions(db: DbOrTx, rolloutIds: readonly string[]): Promise<(rolloutId: string) => ActionCounts> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select((select) => ['rollout_id', 'status', 'rollback_status', 'waived', select.fn.countAll<number>().as('actions')])
    .where('rollout_id', 'in', rolloutIds.length > 0 ? [...rolloutIds] : [''])
    .groupBy(['rollout_id', 'status', 'rollback_status', 'waived'])
    .execute()
  const counts = new Map<string, ActionCounts>()
  for (const { rollout_id, status, rollback_status, waived, actions } of rows) {
    const known = counts.get(rollout_id) ?? noActions
    const [kind, some] = [countedAs[status], Number(actions)]
    const leftOut = known.leftOut + (waived === 1 && rollback_status === null ? some : 0)
    const rollback = rollback_status === null ? known.rollback : countRollback(known.rollback ?? noRollbacks, rollback_status, some)
    counts.set(rollout_id, { ...known, total: known.total + some, [kind]: known[kind] + some, leftOut, rollback })
  }
  return (rolloutId) => counts.get(rolloutId) ?? noActions
}

const countRollback = (known: RollbackCounts, status: ActionRollback['status'], some: number): RollbackCounts => {
  return { ...known, total: known.total + some, [status]: known[status] + some }
}

/** The last successful updates of all rollouts, newest first: the base of expected durations. */
export async function pastUpdates(db: DbOrTx, limit = 500): Promise<PastUpdate[]> {
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .leftJoin('rollout_attempts as attempt', (on) =>
      on.onRef('attempt.action_id', '=', 'action.id').onRef('attempt.attempt', '=', 'action.attempt'),
    )
    .select(['action.slug', 'action.tier', 'action.host_id', 'action.duration_ms', 'action.fenced_ms', 'rollout.fence_mode'])
    .select('attempt.downtime')
    .where('action.status', '=', 'succeeded')
    .where('action.duration_ms', 'is not', null)
    .where('action.fenced_ms', 'is not', null)
    .orderBy('action.finished_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ slug, tier, host_id, duration_ms, fenced_ms, fence_mode, downtime }) => ({
    slug,
    hostId: host_id,
    tier,
    durationMs: Number(duration_ms),
    fencedMs: fence_mode === 'until-stable' ? Number(fenced_ms) : null,
    downtime: downtime === null ? null : JSON.parse(downtime),
  }))
}

/** The last rollback of each box, by its agent or with its rollout, among the newest `limit` of all. */
export async function pastRollbacks(db: DbOrTx, limit = 2000): Promise<PastRollback[]> {
  const rows = await db
    .selectFrom('rollout_actions as action')
    .innerJoin('rollouts as rollout', 'rollout.id', 'action.rollout_id')
    .select(['action.slug', 'action.rollout_id', 'action.finished_at', 'action.from_versions', 'action.to_versions', 'action.error'])
    .select(['action.rollback_status', 'rollout.error as reason'])
    .where('action.status', '=', 'rolled_back')
    .orderBy('action.finished_at', 'desc')
    .limit(limit)
    .execute()
  const past = rows.map(
    ({ slug, rollout_id: rolloutId, finished_at: at, from_versions, to_versions, error, reason, rollback_status }): PastRollback => {
      const failure: ActionError | null = parseJson(error)
      const why = rollback_status === null ? failure && `${failure.code}: ${failure.message}` : reason
      return { slug, rolloutId, at, from: JSON.parse(from_versions), to: JSON.parse(to_versions), reason: why }
    },
  )
  return [...new Map(past.toReversed().map((one) => [one.slug, one])).values()]
}

/** Cancels all pending actions in one statement. Answers them as they are now, by slug. */
export async function cancelAllPending(tx: Tx, rolloutId: string): Promise<StoredAction[]> {
  const rows = await tx
    .updateTable('rollout_actions')
    .set({ status: 'cancelled', waits_until: null, progress: null })
    .where('rollout_id', '=', rolloutId)
    .where('status', '=', 'pending')
    .returningAll()
    .execute()
  return rows.map(actionOf).toSorted((a, b) => (a.tenantSlug < b.tenantSlug ? -1 : 1))
}
