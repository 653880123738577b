import { type Board, boundRole, type RunStatus } from '../../../core/boards/index.ts'
import { noSuchPage, pageEnd, readPageEnd } from '../../../core/contract/index.ts'
import { type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import { hasPart, type RunDetail, readsRuns } from '../../../core/runs/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { findsSpace } from '../../spaces/index.ts'
import { ownersOfTasks, type TaskOwner } from '../../tasks/index.ts'
import { findUserById } from '../../users/index.ts'
import { findBoard } from '../boards/boards.repo.ts'
import { noSuchBoard } from '../boards/show-boards.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import { openElements, openFor, type RunElement } from './elements.repo.ts'
import { eligibleAmong } from './eligible-users.ts'
import { historyAfter } from './history.repo.ts'
import { checkpointId } from './publish-step.ts'
import { findReport, reportsOf } from './reports.repo.ts'
import { findRun, type RunRecord, runsOf, summaryOf } from './runs.repo.ts'

type Deps = Pick<RunsDeps, 'db'>
type One = Readonly<{ id: string }>
type Page = Readonly<{ cursor?: string | undefined; limit: number }>

/** The same answer for a missing run and one that the caller may not read. */
export const noSuchRun = (id: string) => problem('NOT_FOUND', `Run ${id} does not exist, or you have no part in it. fix: ${listsOfWork}`)

const listsOfWork = '`tenantry runs waiting` and `tenantry runs tasks` list what waits for you (GET /checkpoints, GET /tasks)'

async function readableRun(db: DbOrTx, actor: PlatformPrincipal, id: string): Promise<RunRecord> {
  const run = await findRun(db, { tenantId: actor.tenantId, id })
  if (!run || !(await mayRead(db, actor, run))) throw noSuchRun(id)
  return run
}

/** True for users with a part in the run, and for those with `manageRuns` who find its space. */
export const mayRead = async (db: DbOrTx, actor: PlatformPrincipal, { readers, spaceId }: RunRecord): Promise<boolean> =>
  hasPart(readers, actor) || (readsRuns(actor) && (await findsSpace(db, actor, spaceId)))

/** A page of the runs of a board that the caller may read, newest first. Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function listRuns(
  { db }: Deps,
  actor: PlatformPrincipal,
  { id, cursor, limit, status }: One & Page & Readonly<{ status?: RunStatus | undefined }>,
) {
  const { tenantId } = actor
  if (!(await findBoard(db, { tenantId, id }))) throw noSuchBoard(id)
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const found = await runsOf(db, { tenantId, boardId: id, status, reader: actor, after, limit: limit + 1 })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { runs: page, nextCursor: found.length > limit && last ? pageEnd({ createdAt: last.startedAt, id: last.id }) : null }
}

type TaskOwners = ReadonlyMap<string, TaskOwner>

const openView = (
  { runId, tokenId, elementId, kind, label, taskId, openedAt, dueAt, requiredApprovals, role }: RunElement,
  { owners, approvals = 0 }: Readonly<{ owners?: TaskOwners; approvals?: number | undefined }>,
) => ({
  ...{ checkpointId: kind === 'task' ? null : checkpointId(runId, tokenId), runId, elementId, kind, label, taskId },
  // An escalated task belongs to another role; a checkpoint or form stays with its own.
  assignedRole: (taskId !== null && owners?.get(taskId)?.assignedRole) || role,
  ...{ since: openedAt, dueAt, requiredApprovals, approvals: kind === 'checkpoint' ? approvals : null },
})

/** A run with its variables. Throws NOT_FOUND. */
export async function showRun({ db }: Deps, actor: PlatformPrincipal, { id }: One): Promise<RunDetail> {
  const run = await readableRun(db, actor, id)
  const reports = await reportsOf(db, { tenantId: run.tenantId, runId: id })
  return { ...(await detailOf(db, run)), reports }
}

/** A run with its variables and open elements. */
export async function detailOf(db: DbOrTx, run: RunRecord) {
  const open = await openElements(db, { tenantId: run.tenantId, runId: run.id })
  const ids = open.flatMap(({ taskId }) => taskId ?? [])
  const owners = await ownersOfTasks(db, { tenantId: run.tenantId, ids })
  const { graph } = await boardOf(db, { tenantId: run.tenantId, boardId: run.boardId, version: run.boardVersion })
  const counts = await countApprovals(db, { tenantId: run.tenantId, open })
  const messages = await messagesOf(db, run)
  return {
    ...summaryOf(run),
    context: { ...run.state.variables },
    open: open.map((one) => ({ ...openView(one, { owners, approvals: counts.get(one) }), ...inputOf(graph, one) })),
    messages,
  }
}

/** The input that an element takes. */
function inputOf(graph: Board['graph'], { elementId }: RunElement) {
  const element = graph.elements.get(elementId)
  const fields = element?.kind === 'form' ? element.config.fields : []
  return { skippable: (element?.kind === 'form' || element?.kind === 'task') && element.config.skippable, fields: [...fields] }
}

/** The last messages of a run, oldest first. */
async function messagesOf(db: DbOrTx, { tenantId, id }: RunRecord): Promise<RunDetail['messages']> {
  const query = db.selectFrom('run_messages').select(['element_id', 'status', 'created_at']).where('tenant_id', '=', tenantId)
  const rows = await query.where('run_id', '=', id).orderBy('created_at', 'desc').orderBy('token_id', 'desc').limit(100).execute()
  return rows.toReversed().map((row) => ({ elementId: row.element_id, status: row.status, createdAt: row.created_at }))
}

/** A page of the steps of a run, oldest first. Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function showHistory({ db }: Deps, actor: PlatformPrincipal, { id, cursor, limit }: One & Page) {
  const { tenantId } = await readableRun(db, actor, id)
  if (cursor !== undefined && !/^\d{1,9}$/.test(cursor)) throw noSuchPage()
  const found = await historyAfter(db, { tenantId, runId: id }, { after: Number(cursor ?? 0), limit: limit + 1 })
  const page = found.slice(0, limit)
  return { entries: [...page], nextCursor: found.length > limit ? String(page.at(-1)?.seq) : null }
}

/** A page of the open checkpoints and forms that the caller may decide or submit, oldest first. Throws VALIDATION for an invalid cursor. */
export async function listCheckpoints({ db }: Deps, { tenantId, userId, roles }: PlatformPrincipal, { cursor, limit }: Page) {
  const after = cursor === undefined ? undefined : readPlace(cursor)
  const found = await openFor(db, { tenantId, userId, roles, kinds: ['checkpoint', 'form'], after, limit: limit + 1 })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const next = found.length > limit && last ? `${last.openedAt}~${checkpointId(last.runId, last.tokenId)}` : null
  const counts = await countApprovals(db, { tenantId, open: page })
  return { checkpoints: page.map((one) => openView(one, { approvals: counts.get(one) })), nextCursor: next }
}

function readPlace(cursor: string) {
  const [, openedAt, id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([a-z0-9_]{1,60}\.t\d{1,9})$/.exec(cursor) ?? []
  if (openedAt === undefined || id === undefined) throw noSuchPage()
  return { openedAt, id }
}

/** A report of a run that the caller may read. Throws NOT_FOUND. */
export async function showReport({ db }: Deps, actor: PlatformPrincipal, { id }: One) {
  const report = await findReport(db, { tenantId: actor.tenantId, id })
  const run = report && (await findRun(db, { tenantId: actor.tenantId, id: report.runId }))
  if (!report || !run || !(await mayRead(db, actor, run)))
    throw problem('NOT_FOUND', `Report ${id} does not exist, or you may not read it.`)
  return { ...report, spaceId: run.spaceId }
}

type Open = Readonly<{ tenantId: string; open: readonly RunElement[] }>

/** How many approvals of each open element count now: of active users who have the role and may decide. Reads nothing without approvals. */
async function countApprovals(db: DbOrTx, { tenantId, open }: Open): Promise<ReadonlyMap<RunElement, number>> {
  const roles = new Map<string, readonly string[]>()
  const rolesOf = async (id: string) => {
    const user = roles.has(id) ? undefined : await findUserById(db, id)
    if (user) roles.set(id, user.tenantId === tenantId && user.status === 'active' ? user.roles : [])
    return roles.get(id) ?? []
  }
  const counts = new Map<RunElement, number>()
  for (const one of open) {
    if (one.approvals.length === 0) continue
    const run = await findRun(db, { tenantId, id: one.runId })
    if (!run) continue
    const { definition, graph } = await boardOf(db, { tenantId, boardId: run.boardId, version: run.boardVersion })
    const element = graph.elements.get(one.elementId)
    if (element?.kind !== 'checkpoint') continue
    const role = boundRole(definition, element.config.assignedRole)
    const holders: string[] = []
    for (const id of one.approvals) if (role !== undefined && (await rolesOf(id)).includes(role)) holders.push(id)
    counts.set(one, eligibleAmong(holders, { run, element }).length)
  }
  return counts
}
