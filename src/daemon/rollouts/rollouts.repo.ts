import { type Selectable, sql } from 'kysely'
import type { Fix, Manifest } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  inFlightStatuses,
  isOver,
  phaseOrder,
  type Rollout,
  type RolloutKind,
  type RolloutPlan,
  RolloutStatus,
} from '../../core/rollouts/index.ts'
import { type DbOrTx, forUpdate, prepared, type Tx } from '../db/index.ts'
import { insertPlan } from './plans.repo.ts'
import type { RolloutTable } from './rollouts.tables.ts'
import { bringingBack } from './undos-under-way.repo.ts'

/** A rollout as it is stored, without its plan (which is long and read alone). */
export type StoredRollout = Readonly<Omit<Rollout, 'counts' | 'waitingUntil' | 'auditLog' | 'targets'> & { manifest: Manifest }>

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
  'fence_mode',
  'ignore_windows',
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
  fenceMode: row.fence_mode,
  ignoreWindows: row.ignore_windows === 1,
  createdAt: row.created_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
})

export const rolloutNotFound = (id: string) => problem('NOT_FOUND', `there is no rollout ${id}: \`tenantry rollouts list\` shows all`)

/** Throws NOT_FOUND. */
export async function rolloutById(db: DbOrTx, id: string): Promise<StoredRollout> {
  return found(id, (await byId(db, { id })).rows)
}

/** Reads it and keeps everybody else from changing it until the commit. Throws NOT_FOUND. */
export async function lockRollout(tx: Tx, id: string): Promise<StoredRollout> {
  const known = locked.get(tx)
  if (known?.id === id) return known
  const rollout = found(id, (await lockById(tx, { id })).rows)
  locked.set(tx, rollout)
  return rollout
}

/** What a transaction has locked it knows until it changes it itself: nobody else can. */
const locked = new WeakMap<Tx, StoredRollout>()

function found(id: string, [row]: readonly Row[]): StoredRollout {
  if (!row) throw rolloutNotFound(id)
  return rolloutOf(row)
}

const byId = prepared<{ id: string }, Row>((db, place) => db.selectFrom('rollouts').select(columns).where('id', '=', place('id')))
const lockById = prepared<{ id: string }, Row>((db, place) =>
  db.selectFrom('rollouts').select(columns).where('id', '=', place('id')).modifyEnd(forUpdate(db)),
)

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
      fence_mode: rollout.fenceMode,
      ignore_windows: rollout.ignoreWindows ? 1 : 0,
      idempotency_key: repeat?.key ?? null,
      idempotency_sum: repeat?.sum ?? null,
      created_at: rollout.createdAt,
    })
    .execute()
  await insertPlan(tx, rollout.id, plan)
}

const stateColumns = (rollout: StoredRollout) => ({
  status: rollout.status,
  previous_status: rollout.previousStatus,
  pause_reason: rollout.pauseReason,
  error: rollout.error,
  digests: JSON.stringify(rollout.digests),
  skip_refused: rollout.skipRefused ? 1 : 0,
  started_at: rollout.startedAt,
  finished_at: rollout.finishedAt,
})

/** Stores what moves, pauses and pulls change. Guarded by the status that was read; throws CONFLICT when it is another by now. */
export async function replaceRollout(tx: Tx, before: StoredRollout, after: StoredRollout): Promise<void> {
  locked.delete(tx)
  const { numUpdatedRows } = await tx
    .updateTable('rollouts')
    .set(stateColumns(after))
    .where('id', '=', before.id)
    .where('status', '=', before.status)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw problem('CONFLICT', `the rollout ${before.id} is not ${before.status} any more: look at it again`)
}

/** The rollout that an earlier call with the same Idempotency-Key made. */
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

/** A page of rollouts, newest first. */
export async function rolloutsPage(db: DbOrTx, { limit, after, status, kind, since, key }: Page): Promise<StoredRollout[]> {
  let query = db.selectFrom('rollouts').select(columns).orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit)
  if (status) query = query.where('status', '=', status)
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

const overStatuses = RolloutStatus.options.filter(isOver)

/** Staged rollouts that are in a phase now. */
export async function stagedUnderWay(db: DbOrTx): Promise<string[]> {
  const rows = await db
    .selectFrom('rollouts')
    .select('id')
    .where('kind', '=', 'staged')
    .where('status', 'in', phaseOrder.staged)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * A rollout with all that are not over or still bring boxes back, each of them locked until the commit: what is begun must know what else runs.
 * One statement locks them in the order of their ids, so that two such transactions never wait for each other in a circle. Where it had to wait
 * for one that was rolled back meanwhile, PostgreSQL judges that by the boxes as they were before and leaves it out: a second look finds it, and
 * no other can follow, for whoever asks for boxes back locks all that are open. Throws NOT_FOUND.
 */
export async function lockOpenRollouts(tx: Tx, id: string): Promise<{ rollout: StoredRollout; others: StoredRollout[] }> {
  const open = await lockedBy(
    tx,
    stored(tx).where((row) => row.or([row('id', '=', id), row('status', 'not in', overStatuses), row('id', 'in', bringingBack(tx))])),
  )
  const rollout = open.find((one) => one.id === id)
  if (!rollout) throw rolloutNotFound(id)
  const known = open.map((one) => one.id)
  const late = await lockedBy(tx, stored(tx).where('id', 'in', bringingBack(tx)).where('id', 'not in', known))
  return { rollout, others: [...open.filter((one) => one !== rollout), ...late] }
}

const stored = (tx: Tx) => tx.selectFrom('rollouts').select(columns)

const lockedBy = async (tx: Tx, query: ReturnType<typeof stored>): Promise<StoredRollout[]> =>
  (await query.orderBy('id').modifyEnd(forUpdate(tx)).execute()).map(rolloutOf)

const runningStatuses = [...new Set(Object.values(phaseOrder).flat())]

/** Rollouts that want an engine: those in a phase, and those with an action in flight or a box to be brought back, whatever became of them. */
export async function rolloutsToDrive(db: DbOrTx): Promise<string[]> {
  const { rows } = await toDrive(db, {})
  return [...new Set(rows.map(({ id }) => id))].sort()
}

/**
 * Each as often as it is found, a question for each status: for a list of them, and for leaving out what is found twice, SQLite makes tables of its
 * own, which costs ten times what the answer does.
 */
const toDrive = prepared<Record<never, never>, { id: string }>(() => {
  const inPhase = runningStatuses.map((status) => sql`select id from rollouts where status = ${sql.lit(status)}`)
  const inFlight = inFlightStatuses.map((status) => sql`select rollout_id as id from rollout_actions where status = ${sql.lit(status)}`)
  const toUndo = sql`select distinct rollout_id as id from rollout_actions where undo_status = ${sql.lit('pending')}`
  return sql<{ id: string }>`${sql.join([...inPhase, ...inFlight, toUndo], sql` union all `)}`
})
