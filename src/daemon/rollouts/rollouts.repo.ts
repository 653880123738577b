import type { Selectable } from 'kysely'
import type { Fix, Manifest } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { isOver, Phase, type Rollout, type RolloutKind, type RolloutPlan, RolloutStatus } from '../../core/rollouts/index.ts'
import { traceparent } from '../../node/index.ts'
import { type DbOrTx, forUpdate, type Tx } from '../db/index.ts'
import { withRollbacks } from './open-rollouts.repo.ts'
import type { RolloutTable } from './rollouts.tables.ts'

/** A rollout as it is stored, without its plan. `queuedBehind` has the rollouts that were unfinished at its start. */
export type StoredRollout = Readonly<
  Omit<Rollout, 'counts' | 'waitingUntil' | 'auditLog' | 'targets' | 'stillAsked'> & { manifest: Manifest }
>

const columns = [
  'id',
  'kind',
  'status',
  'previous_status',
  'pause_reason',
  'error',
  'reason',
  'cve_id',
  'triggered_by',
  'created_by',
  'manifest_revision',
  'manifest',
  'digests',
  'target_slugs',
  'failure_threshold',
  'skip_refused',
  'hold_after',
  'parallel',
  'bake_ms',
  'bake_until',
  'gates',
  'fence_mode',
  'snapshot_mode',
  'ignore_windows',
  'queued_behind',
  'created_at',
  'started_at',
  'finished_at',
] as const satisfies (keyof RolloutTable)[]

type Row = Pick<Selectable<RolloutTable>, (typeof columns)[number]>

const rolloutOf = (row: Row): StoredRollout => ({
  id: row.id,
  kind: row.kind,
  status: row.status,
  previousStatus: row.previous_status,
  pauseReason: row.pause_reason,
  error: row.error,
  reason: row.reason,
  cveId: row.cve_id,
  triggeredBy: row.triggered_by,
  createdBy: row.created_by,
  manifestRevision: row.manifest_revision,
  manifest: JSON.parse(row.manifest),
  digests: JSON.parse(row.digests),
  targetSlugs: row.target_slugs === null ? null : JSON.parse(row.target_slugs),
  failureThreshold: row.failure_threshold,
  skipRefused: row.skip_refused === 1,
  holdAfter: row.hold_after,
  parallel: row.parallel,
  bakeMs: row.bake_ms,
  bakeUntil: row.bake_until,
  gates: row.gates === null ? [] : JSON.parse(row.gates),
  fenceMode: row.fence_mode,
  snapshotMode: row.snapshot_mode,
  ignoreWindows: row.ignore_windows === 1,
  queuedBehind: row.queued_behind === null ? [] : JSON.parse(row.queued_behind),
  createdAt: row.created_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
})

const rolloutNotFound = (id: string) => problem('NOT_FOUND', `rollout ${id} does not exist. fix: list all with \`tenantry rollouts list\``)

const stored = (db: DbOrTx) => db.selectFrom('rollouts').select(columns)

/** Throws NOT_FOUND. */
export async function rolloutById(db: DbOrTx, id: string): Promise<StoredRollout> {
  return found(id, await stored(db).where('id', '=', id).executeTakeFirst())
}

/** Reads the rollout and locks it until the commit. Throws NOT_FOUND. */
export async function lockRollout(tx: Tx, id: string): Promise<StoredRollout> {
  return found(id, await stored(tx).where('id', '=', id).modifyEnd(forUpdate(tx)).executeTakeFirst())
}

/** The trace in which the rollout was created; null where there was none. */
export async function traceOf(tx: Tx, id: string): Promise<string | null> {
  return (await tx.selectFrom('rollouts').select('trace').where('id', '=', id).executeTakeFirstOrThrow()).trace
}

function found(id: string, row: Row | undefined): StoredRollout {
  if (!row) throw rolloutNotFound(id)
  return rolloutOf(row)
}

type Repeat = Readonly<{ key: string; sum: string }>

type Beside = Readonly<{ plan: RolloutPlan; repeat: Repeat | null; fixes?: Fix['versions'] | undefined }>

export async function insertRollout(tx: Tx, rollout: StoredRollout, { plan, repeat, fixes }: Beside): Promise<void> {
  await tx
    .insertInto('rollouts')
    .values({
      id: rollout.id,
      kind: rollout.kind,
      ...stateColumns(rollout),
      reason: rollout.reason,
      cve_id: rollout.cveId,
      triggered_by: rollout.triggeredBy,
      created_by: rollout.createdBy,
      manifest_revision: rollout.manifestRevision,
      manifest: JSON.stringify(rollout.manifest),
      fixes: fixes ? JSON.stringify(fixes) : null,
      target_slugs: rollout.targetSlugs && JSON.stringify(rollout.targetSlugs),
      failure_threshold: rollout.failureThreshold,
      hold_after: rollout.holdAfter,
      parallel: rollout.parallel,
      bake_ms: rollout.bakeMs,
      fence_mode: rollout.fenceMode,
      snapshot_mode: rollout.snapshotMode,
      ignore_windows: rollout.ignoreWindows ? 1 : 0,
      idempotency_key: repeat?.key ?? null,
      idempotency_sum: repeat?.sum ?? null,
      created_at: rollout.createdAt,
      trace: traceparent() ?? null,
    })
    .execute()
  await insertPlan(tx, rollout.id, plan)
}

const stateColumns = (rollout: StoredRollout) => ({
  status: rollout.status,
  previous_status: rollout.previousStatus,
  pause_reason: rollout.pauseReason,
  bake_until: rollout.bakeUntil,
  gates: rollout.gates.length > 0 ? JSON.stringify(rollout.gates) : null,
  error: rollout.error,
  digests: JSON.stringify(rollout.digests),
  queued_behind: rollout.queuedBehind.length > 0 ? JSON.stringify(rollout.queuedBehind) : null,
  skip_refused: rollout.skipRefused ? 1 : 0,
  started_at: rollout.startedAt,
  finished_at: rollout.finishedAt,
})

/** Stores what transitions and pulls change. Throws CONFLICT when the status changed since it was read. */
export async function replaceRollout(tx: Tx, before: StoredRollout, after: StoredRollout): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('rollouts')
    .set(stateColumns(after))
    .where('id', '=', before.id)
    .where('status', '=', before.status)
    .executeTakeFirst()
  if (numUpdatedRows === 0n)
    throw problem('CONFLICT', `rollout ${before.id} changed meanwhile (it was ${before.status}). fix: read it again and retry`)
}

/** The rollout that an earlier call with the same Idempotency-Key created. */
export async function rolloutByKey(db: DbOrTx, key: string): Promise<{ id: string; sum: string | null } | undefined> {
  const row = await db.selectFrom('rollouts').select(['id', 'idempotency_sum']).where('idempotency_key', '=', key).executeTakeFirst()
  return row && { id: row.id, sum: row.idempotency_sum }
}

type Page = Readonly<{
  limit: number
  after?: Readonly<{ createdAt: string; id: string }> | undefined
  status?: RolloutStatus | undefined
  kind?: RolloutKind | undefined
  since?: string | undefined
  key?: string | undefined
}>

const anyRollback = ['pending', 'running', 'done', 'failed'] as const

/** A page of rollouts, newest first. A finished one whose boxes are rolled back counts as `rolled_back` too: every view shows it so. */
export async function rolloutsPage(db: DbOrTx, { limit, after, status, kind, since, key }: Page): Promise<StoredRollout[]> {
  let query = db.selectFrom('rollouts').select(columns).orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit)
  if (status === 'rolled_back')
    query = query.where((where) => where.or([where('status', '=', status), where('id', 'in', withRollbacks(db, anyRollback))]))
  else if (status) query = query.where('status', '=', status)
  if (kind) query = query.where('kind', '=', kind)
  if (since) query = query.where('created_at', '>=', since)
  if (key) query = query.where('idempotency_key', '=', key)
  if (after)
    query = query.where((where) =>
      where.or([
        where('created_at', '<', after.createdAt),
        where.and([where('created_at', '=', after.createdAt), where('id', '<', after.id)]),
      ]),
    )
  return (await query.execute()).map(rolloutOf)
}

/** Rollouts whose boxes are baked, and that have gates. */
export async function rolloutsAtGates(db: DbOrTx, now: string): Promise<StoredRollout[]> {
  const rows = await stored(db).where('gates', 'is not', null).where('bake_until', '<=', now).where('status', 'in', Phase.options).execute()
  return rows.map(rolloutOf)
}

const overStatuses = RolloutStatus.options.filter(isOver)

/**
 * Locks a rollout, and all others that are not finished or still roll boxes back, until the commit. One statement locks them in the order of
 * their ids, so that two such transactions never deadlock. PostgreSQL leaves out a rollout that was rolled back while this statement waited;
 * the second statement finds it, and no other can follow, because a rollback locks all open rollouts. Throws NOT_FOUND.
 */
export async function lockOpenRollouts(tx: Tx, id: string): Promise<{ rollout: StoredRollout; others: StoredRollout[] }> {
  const open = await lockedBy(
    tx,
    stored(tx).where((row) => row.or([row('id', '=', id), row('status', 'not in', overStatuses), row('id', 'in', withRollbacks(tx))])),
  )
  const rollout = open.find((one) => one.id === id)
  if (!rollout) throw rolloutNotFound(id)
  const known = open.map((one) => one.id)
  const late = await lockedBy(tx, stored(tx).where('id', 'in', withRollbacks(tx)).where('id', 'not in', known))
  return { rollout, others: [...open.filter((one) => one !== rollout), ...late] }
}

const lockedBy = async (tx: Tx, query: ReturnType<typeof stored>): Promise<StoredRollout[]> =>
  (await query.orderBy('id').modifyEnd(forUpdate(tx)).execute()).map(rolloutOf)

// A plan of thousands of boxes is megabytes. It has its own table, because the row of its rollout is read and written at every step.

async function insertPlan(tx: Tx, rolloutId: string, plan: RolloutPlan): Promise<void> {
  await tx
    .insertInto('rollout_plans')
    .values({ rollout_id: rolloutId, plan: JSON.stringify(plan) })
    .execute()
}

/** The plan of a rollout that was made again before its start, with the manifest that it targets. */
export async function replacePlan(tx: Tx, { id, manifest, manifestRevision }: StoredRollout, plan: RolloutPlan): Promise<void> {
  const target = { manifest: JSON.stringify(manifest), manifest_revision: manifestRevision }
  await tx.updateTable('rollouts').set(target).where('id', '=', id).execute()
  await tx
    .updateTable('rollout_plans')
    .set({ plan: JSON.stringify(plan) })
    .where('rollout_id', '=', id)
    .execute()
}

/** Throws NOT_FOUND. */
export async function planOf(db: DbOrTx, rolloutId: string): Promise<RolloutPlan> {
  const row = await db.selectFrom('rollout_plans').select('plan').where('rollout_id', '=', rolloutId).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `rollout ${rolloutId} has no plan. fix: list all with \`tenantry rollouts list\``)
  return JSON.parse(row.plan)
}
