import { decidedCodes, type RunFailure, type RunState, type RunStatus } from '../../../core/boards/index.ts'
import type { PageEnd } from '../../../core/contract/index.ts'
import type { PlatformPrincipal } from '../../../core/kit/index.ts'
import { type Readers, type RunSummary, readsRuns, retryableCodes } from '../../../core/runs/index.ts'
import { contains, type DbOrTx, insertRows, jsonArrayHas, jsonText, readRow, type Tx, updateRows, type Write } from '../../db/index.ts'
import { foundSpaces } from '../../spaces/index.ts'
import type { RunTable } from './runs.tables.ts'

/** How a run began. A trigger names its occurrence; a chat trigger also the message and its sender. */
export type RunTrigger = Readonly<{ type: 'manual' | 'event' | 'chat' | 'cron'; occurrence?: string; sender?: string; eventId?: string }>

type Active = Readonly<{ elementIds: readonly string[]; columnIds: readonly string[] }>

export type RunRecord = Readonly<{
  id: string
  tenantId: string
  boardId: string
  boardVersion: number
  boardName: string
  spaceId: string | null
  trigger: RunTrigger
  startKey: string | null
  readers: Readers
  active: Active
  state: RunState
  expiresAt: string | null
}>

const columns = [
  ...(['id', 'tenant_id', 'board_id', 'board_version', 'board_name', 'space_id', 'trigger', 'start_key'] as const),
  ...(['readers', 'active', 'state', 'expires_at'] as const),
]

const toRun = (row: Pick<RunTable, (typeof columns)[number]>): RunRecord => ({
  id: row.id,
  tenantId: row.tenant_id,
  boardId: row.board_id,
  boardVersion: Number(row.board_version),
  boardName: row.board_name,
  spaceId: row.space_id,
  trigger: JSON.parse(row.trigger),
  startKey: row.start_key,
  readers: JSON.parse(row.readers),
  active: JSON.parse(row.active),
  state: JSON.parse(row.state),
  expiresAt: row.expires_at,
})

/** The columns that change with each step. */
const changing = ({ boardVersion, readers, active, state, expiresAt }: RunRecord, updatedAt: string) => ({
  board_version: boardVersion,
  status: state.status,
  seq: state.seq,
  readers: JSON.stringify(readers),
  active: JSON.stringify(active),
  failure: state.failure && JSON.stringify(state.failure),
  state: JSON.stringify(state),
  finished_at: state.finishedAt,
  updated_at: updatedAt,
  expires_at: expiresAt,
})

const rowOf = (run: RunRecord): RunTable => {
  const { state } = run
  return {
    id: run.id,
    tenant_id: run.tenantId,
    board_id: run.boardId,
    board_name: run.boardName,
    space_id: run.spaceId,
    trigger: JSON.stringify(run.trigger),
    start_key: run.startKey,
    started_by: state.startedBy,
    started_at: state.startedAt,
    due_at: state.dueAt,
    ...changing(run, state.startedAt),
  }
}

export const insertRun = (run: RunRecord): Write => insertRows('runs', [rowOf(run)])

/** Inserts a run with a start key. Returns false if the board has a run of that key. */
export async function insertKeyedRun(tx: Tx, run: RunRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('runs')
    .values(rowOf(run))
    .onConflict((c) => c.columns(['board_id', 'start_key']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** The caller holds the lock of the run. */
export const replaceRun = (run: RunRecord, updatedAt: string): Write =>
  updateRows('runs', { tenant_id: run.tenantId, id: run.id }, changing(run, updatedAt))

type One = Readonly<{ tenantId: string; id: string }>

export async function findRun(db: DbOrTx, { tenantId, id }: One): Promise<RunRecord | undefined> {
  const row = await readRow(db, { table: 'runs', columns, where: { tenant_id: tenantId, id } })
  return row && toRun(row)
}

/** Ids of the boards of these runs. */
export async function boardsOfRuns(
  db: DbOrTx,
  { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly string[] }>,
): Promise<string[]> {
  const query = db.selectFrom('runs').select('board_id').distinct().where('tenant_id', '=', tenantId).where('id', 'in', ids)
  return (await query.orderBy('board_id').execute()).map(({ board_id }) => board_id)
}

/** The run, locked until the transaction ends. Each change of a run, its timers or its tasks locks the run first, so changes cannot deadlock. */
export async function lockRun(tx: Tx, { tenantId, id }: One): Promise<RunRecord | undefined> {
  const row = await readRow(tx, { table: 'runs', columns, where: { tenant_id: tenantId, id }, lock: 'wait' })
  return row && toRun(row)
}

/** Like `lockRun`, but undefined if another transaction works on the run. */
export async function lockFreeRun(tx: Tx, { tenantId, id }: One): Promise<RunRecord | undefined> {
  const row = await readRow(tx, { table: 'runs', columns, where: { tenant_id: tenantId, id }, lock: 'skip' })
  return row && toRun(row)
}

export async function runByStartKey(
  db: DbOrTx,
  { tenantId, boardId, startKey }: Readonly<{ tenantId: string; boardId: string; startKey: string }>,
): Promise<RunRecord | undefined> {
  const query = db.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId).where('board_id', '=', boardId)
  const row = await query.where('start_key', '=', startKey).executeTakeFirst()
  return row && toRun(row)
}

/** The newest run that has not ended: this one, or one of the board in the space. */
export async function unfinishedRun(
  db: DbOrTx,
  { tenantId, boardId, spaceId, runId }: Readonly<{ tenantId: string; boardId: string; spaceId: string; runId: string | null }>,
): Promise<Readonly<{ startedAt: string }> | undefined> {
  const query = db.selectFrom('runs').select('started_at as startedAt').where('tenant_id', '=', tenantId).where('board_id', '=', boardId)
  const here = query.where(({ eb, or }) => or([eb('space_id', '=', spaceId), ...(runId === null ? [] : [eb('id', '=', runId)])]))
  const unfinished = here.where('status', 'in', ['running', 'waiting'])
  return unfinished.orderBy('started_at', 'desc').limit(1).executeTakeFirst()
}

const summarized = [
  ...(['id', 'board_id', 'board_version', 'board_name', 'space_id', 'status', 'seq', 'trigger', 'active', 'failure'] as const),
  ...(['started_by', 'started_at', 'finished_at', 'due_at'] as const),
]
type SummaryRow = Pick<RunTable, (typeof summarized)[number]>

type Summarized = Pick<RunRecord, 'id' | 'boardId' | 'boardVersion' | 'boardName' | 'spaceId' | 'trigger' | 'active'> &
  Readonly<{ state: Pick<RunState, 'status' | 'seq' | 'failure' | 'startedBy' | 'startedAt' | 'finishedAt' | 'dueAt'> }>

const toSummary = (row: SummaryRow): RunSummary =>
  summaryOf({
    ...{ id: row.id, boardId: row.board_id, boardVersion: Number(row.board_version), boardName: row.board_name, spaceId: row.space_id },
    ...{ trigger: JSON.parse(row.trigger), active: JSON.parse(row.active) },
    state: {
      ...{ status: row.status, seq: Number(row.seq), failure: row.failure === null ? null : JSON.parse(row.failure) },
      ...{ startedBy: row.started_by, startedAt: row.started_at, finishedAt: row.finished_at, dueAt: row.due_at },
    },
  })

/** A run as lists return it. */
export const summaryOf = ({ state, active, ...run }: Summarized): RunSummary => ({
  id: run.id,
  boardId: run.boardId,
  boardName: run.boardName,
  boardVersion: run.boardVersion,
  spaceId: run.spaceId,
  status: state.status,
  trigger: run.trigger.type,
  startedBy: state.startedBy,
  activeColumnId: active.columnIds[0] ?? null,
  activeColumnIds: [...active.columnIds],
  activeElementIds: [...active.elementIds],
  seq: state.seq,
  failure: state.failure,
  startedAt: state.startedAt,
  completedAt: state.finishedAt,
  slaDeadline: state.dueAt,
  slaWarningAt: state.dueAt && warningAt(state.startedAt, state.dueAt),
})

const warningAt = (from: string, to: string): string => new Date(Date.parse(from) + (Date.parse(to) - Date.parse(from)) * 0.8).toISOString()

type Listing = Readonly<{
  tenantId: string
  boardId: string
  status?: RunStatus | undefined
  /** Only runs that this user may read (`mayRead`). */
  reader: Pick<PlatformPrincipal, 'tenantId' | 'userId' | 'roles' | 'capabilities'>
  after?: PageEnd | undefined
  limit: number
}>

/** Runs of a board, newest first. */
export async function runsOf(db: DbOrTx, { tenantId, boardId, status, reader, after, limit }: Listing): Promise<RunSummary[]> {
  let query = db
    .selectFrom('runs')
    .select(summarized)
    .where('tenant_id', '=', tenantId)
    .where('board_id', '=', boardId)
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (status) query = query.where('status', '=', status)
  query = query.where(({ eb, or }) =>
    or([
      ...isReadBy(db, reader),
      ...(readsRuns(reader) ? [eb('space_id', 'is', null), eb('space_id', 'in', foundSpaces(db, reader))] : []),
    ]),
  )
  if (after)
    query = query.where(({ eb, or, and }) =>
      or([eb('started_at', '<', after.createdAt), and([eb('started_at', '=', after.createdAt), eb('id', '<', after.id)])]),
    )
  return (await query.execute()).map(toSummary)
}

/** An empty list of roles is no condition. */
const isReadBy = (db: DbOrTx, { userId, roles }: Listing['reader']) => [
  jsonArrayHas(db, { column: 'readers', key: 'users' }, [userId]),
  ...(roles.length > 0 ? [jsonArrayHas(db, { column: 'readers', key: 'roles' }, roles)] : []),
]

export type Search = Readonly<{
  tenantId: string
  status?: RunStatus | undefined
  board?: string | undefined
  element?: string | undefined
  startedBefore?: string | undefined
  /** Only runs that a cancel ends. */
  unfinished?: boolean
  /** Only runs that failed by their board, which another version of it may continue. */
  hasFailed?: boolean
  /** Only runs that a retry continues. */
  retryable?: boolean
  after?: PageEnd | undefined
  limit: number
}>

/** Runs of a tenant, newest first. */
export async function searchRuns(db: DbOrTx, search: Search): Promise<RunSummary[]> {
  const { tenantId, status, board, element, startedBefore, unfinished, hasFailed, retryable, after, limit } = search
  let query = db
    .selectFrom('runs')
    .select(summarized)
    .where('tenant_id', '=', tenantId)
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
  if (status) query = query.where('status', '=', status)
  if (board !== undefined) query = query.where('board_id', '=', board)
  if (startedBefore !== undefined) query = query.where('started_at', '<', startedBefore)
  if (element !== undefined)
    query = query.where(({ eb, or }) =>
      or([
        jsonArrayHas(db, { column: 'active', key: 'elementIds' }, [element]),
        eb(jsonText(db, { column: 'failure', key: 'elementId' }), '=', element),
      ]),
    )
  if (retryable) query = query.where(({ or }) => or(retryableCodes.map(failedWith)))
  if (hasFailed) query = query.where('status', '=', 'failed')
  if (unfinished || hasFailed)
    query = query
      .where('status', '!=', 'completed')
      .where(({ or, and, not, eb }) => or([eb('failure', 'is', null), and(decidedCodes.map((code) => not(failedWith(code))))]))
  if (after)
    query = query.where(({ eb, or, and }) =>
      or([eb('started_at', '<', after.createdAt), and([eb('started_at', '=', after.createdAt), eb('id', '<', after.id)])]),
    )
  return (await query.execute()).map(toSummary)
}

const failedWith = (code: RunFailure['code']) => contains('failure', `"code":"${code}"`)
