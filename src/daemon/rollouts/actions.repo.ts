import type { Selectable } from 'kysely'
import type { Tier, VersionedService } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type {
  ActionCounts,
  ActionStatus,
  ActionUndo,
  CommandStep,
  PastUpdate,
  RolloutAction,
  UndoCounts,
} from '../../core/rollouts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { RolloutActionTable } from './rollouts.tables.ts'

/** An action with what only the engine needs to know. */
export type StoredAction = Readonly<
  RolloutAction & {
    tier: Tier
    step: CommandStep | null
    commandId: string | null
    images: Partial<Record<VersionedService, string>>
    expectedMs: number
    expectedFenceMs: number
    overdueAt: string | null
  }
>

type Row = Selectable<RolloutActionTable>

const flag = (value: number | null): boolean | null => (value === null ? null : value === 1)
const bit = (value: boolean | null): number | null => (value === null ? null : value ? 1 : 0)
const read = (text: string | null) => (text === null ? null : JSON.parse(text))
const written = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

export const actionOf = (row: Row): StoredAction => ({
  id: row.id,
  rolloutId: row.rollout_id,
  tenantSlug: row.slug,
  boxId: row.box_id,
  hostId: row.host_id,
  tier: row.tier,
  phase: row.phase,
  status: row.status,
  waived: row.waived === 1,
  undo: row.undo_mode && row.undo_status && { mode: row.undo_mode, status: row.undo_status, error: read(row.undo_error) },
  attempt: row.attempt,
  step: row.step,
  commandId: row.command_id,
  images: JSON.parse(row.images),
  snapshotOk: flag(row.snapshot_ok),
  updateOk: flag(row.update_ok),
  healthOk: flag(row.health_ok),
  rolledBack: row.rolled_back === 1,
  snapshotId: row.snapshot_id,
  from: JSON.parse(row.from_versions),
  to: JSON.parse(row.to_versions),
  findings: JSON.parse(row.findings),
  progress: read(row.progress),
  expectedMs: Number(row.expected_ms),
  expectedFenceMs: Number(row.expected_fence_ms),
  waitsUntil: row.waits_until,
  startedAt: row.started_at,
  overdueAt: row.overdue_at,
  finishedAt: row.finished_at,
  durationMs: row.duration_ms === null ? null : Number(row.duration_ms),
  fencedMs: row.fenced_ms === null ? null : Number(row.fenced_ms),
  error: read(row.error),
})

const rowOf = (action: StoredAction): Row => ({
  id: action.id,
  rollout_id: action.rolloutId,
  slug: action.tenantSlug,
  box_id: action.boxId,
  host_id: action.hostId,
  tier: action.tier,
  phase: action.phase,
  status: action.status,
  waived: action.waived ? 1 : 0,
  undo_mode: action.undo?.mode ?? null,
  undo_status: action.undo?.status ?? null,
  undo_error: written(action.undo?.error ?? null),
  attempt: action.attempt,
  step: action.step,
  command_id: action.commandId,
  images: JSON.stringify(action.images),
  snapshot_ok: bit(action.snapshotOk),
  update_ok: bit(action.updateOk),
  health_ok: bit(action.healthOk),
  rolled_back: action.rolledBack ? 1 : 0,
  snapshot_id: action.snapshotId,
  from_versions: JSON.stringify(action.from),
  to_versions: JSON.stringify(action.to),
  findings: JSON.stringify(action.findings),
  progress: written(action.progress),
  expected_ms: Math.round(action.expectedMs),
  expected_fence_ms: Math.round(action.expectedFenceMs),
  waits_until: action.waitsUntil,
  started_at: action.startedAt,
  overdue_at: action.overdueAt,
  finished_at: action.finishedAt,
  duration_ms: action.durationMs === null ? null : Math.round(action.durationMs),
  fenced_ms: action.fencedMs === null ? null : Math.round(action.fencedMs),
  error: written(action.error),
})

/** The record that the wire shows. */
export function publicAction({
  tier,
  step,
  commandId,
  images,
  expectedMs,
  expectedFenceMs,
  overdueAt,
  ...shown
}: StoredAction): RolloutAction {
  return shown
}

const rowsPerInsert = 500

export async function insertActions(tx: Tx, actions: readonly StoredAction[]): Promise<void> {
  for (let from = 0; from < actions.length; from += rowsPerInsert) {
    const rows = actions.slice(from, from + rowsPerInsert).map(rowOf)
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
  if (!row) throw problem('NOT_FOUND', `the rollout ${rolloutId} has no tenant ${slug}: \`tenantry rollouts show ${rolloutId}\` lists them`)
  return actionOf(row)
}

/** Stores a changed action, guarded by status and attempt as they were read; throws CONFLICT when they are others by now. */
export async function replaceAction(tx: Tx, before: StoredAction, after: StoredAction): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('rollout_actions')
    .set(rowOf(after))
    .where('id', '=', before.id)
    .where('status', '=', before.status)
    .where('attempt', '=', before.attempt)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw problem('CONFLICT', `the action of ${before.tenantSlug} changed meanwhile: look at it again`)
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
  undo: null,
}
const noUndo: UndoCounts = { total: 0, pending: 0, running: 0, undone: 0, failed: 0 }

/** Counts per rollout; of one without actions all are 0. */
export async function countActions(db: DbOrTx, rolloutIds: readonly string[]): Promise<(rolloutId: string) => ActionCounts> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select((select) => ['rollout_id', 'status', 'undo_status', select.fn.countAll<number>().as('actions')])
    .where('rollout_id', 'in', rolloutIds.length > 0 ? [...rolloutIds] : [''])
    .groupBy(['rollout_id', 'status', 'undo_status'])
    .execute()
  const counts = new Map<string, ActionCounts>()
  for (const { rollout_id, status, undo_status, actions } of rows) {
    const known = counts.get(rollout_id) ?? noActions
    const [kind, some] = [countedAs[status], Number(actions)]
    const undo = undo_status === null ? known.undo : countUndo(known.undo ?? noUndo, undo_status, some)
    counts.set(rollout_id, { ...known, total: known.total + some, [kind]: known[kind] + some, undo })
  }
  return (rolloutId) => counts.get(rolloutId) ?? noActions
}

const countUndo = (known: UndoCounts, status: ActionUndo['status'], some: number): UndoCounts => {
  return { ...known, total: known.total + some, [status]: known[status] + some }
}

/** The last updates that went well anywhere, newest first: what the next ones are expected to take. */
export async function pastUpdates(db: DbOrTx, limit = 500): Promise<PastUpdate[]> {
  const rows = await db
    .selectFrom('rollout_actions')
    .select(['slug', 'tier', 'duration_ms', 'fenced_ms'])
    .where('status', '=', 'succeeded')
    .where('duration_ms', 'is not', null)
    .where('fenced_ms', 'is not', null)
    .orderBy('finished_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ slug, tier, duration_ms, fenced_ms }) => ({
    slug,
    tier,
    durationMs: Number(duration_ms),
    fencedMs: Number(fenced_ms),
  }))
}

/** What had not begun when its rollout ended never will; answers how many. */
export async function cancelPending(tx: Tx, rolloutId: string): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('rollout_actions')
    .set({ status: 'cancelled', waits_until: null })
    .where('rollout_id', '=', rolloutId)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
