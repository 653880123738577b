import type { RunFailure, RunStatus } from '../../../core/boards/index.ts'
import { noSuchPage, pageEnd, pageOf, readPageEnd } from '../../../core/contract/index.ts'
import { type AdminActor, isProblem, problem, type TokenActor } from '../../../core/kit/index.ts'
import { maxBulk, type OperatorRun, type RunSummary } from '../../../core/runs/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { withSpaceNames } from '../../spaces/index.ts'
import { tenantBySlug } from '../../tenants/index.ts'
import { runFailed } from './advance-run.ts'
import type { RunsDeps } from './deps.ts'
import { historyAfter } from './history.repo.ts'
import { manageLocked } from './manage-run.ts'
import { checkedMove } from './move-version.ts'
import { boardsOfRuns, findRun, lockRun, searchRuns } from './runs.repo.ts'

// Runs of a tenant for operators: search them, cancel and retry them. No answer names a user or a value of a run; read-run.ts does, with support access.

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'random'>
type Operator = AdminActor | TokenActor
type Filter = Readonly<{
  status?: RunStatus | undefined
  board?: string | undefined
  element?: string | undefined
  startedBefore?: string | undefined
}>
type Page = Readonly<{ slug: string; cursor?: string | undefined; limit: number }>
export type Named = Readonly<{ slug: string; id: string }>

export async function tenantIdOf(db: DbOrTx, slug: string): Promise<string> {
  const tenant = await tenantBySlug(db, slug)
  if (!tenant) throw problem('NOT_FOUND', `Tenant ${slug} does not exist. fix: tenantry tenants list`)
  return tenant.id
}

/** The reason of a condition without a value quotes variables. */
const operatorFailure = (failure: RunFailure): RunFailure =>
  failure.code === 'EXPRESSION_FAILED' ? { ...failure, message: 'a condition has no value for the variables of the run' } : failure

type OfTenant = Readonly<{ tenantId: string; runs: readonly RunSummary[] }>

/** Runs with the names of their spaces, and without the users who started them. */
export async function operatorRuns(db: DbOrTx, { tenantId, runs }: OfTenant): Promise<OperatorRun[]> {
  const rows = await withSpaceNames(db, { tenantId, rows: runs })
  return rows.map(({ startedBy: _, failure, ...run }) => ({ ...run, failure: failure && operatorFailure(failure) }))
}

/** Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function listTenantRuns({ db }: Pick<Deps, 'db'>, { slug, cursor, limit, ...filter }: Page & Filter) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  const tenantId = await tenantIdOf(db, slug)
  const found = await searchRuns(db, { tenantId, ...filter, after, limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ startedAt, id }) => pageEnd({ createdAt: startedAt, id }))
  return { runs: await operatorRuns(db, { tenantId, runs: page }), nextCursor }
}

export const noSuchRun = ({ slug, id }: Named) =>
  problem('NOT_FOUND', `Run ${id} of ${slug} does not exist. fix: tenantry runs list --tenant ${slug}`)

/** Throws NOT_FOUND, VALIDATION for an invalid cursor. */
export async function tenantRunHistory({ db }: Pick<Deps, 'db'>, { cursor, limit, ...named }: Named & Page) {
  const tenantId = await tenantIdOf(db, named.slug)
  if (!(await findRun(db, { tenantId, id: named.id }))) throw noSuchRun(named)
  if (cursor !== undefined && !/^\d{1,9}$/.test(cursor)) throw noSuchPage()
  const found = await historyAfter(db, { tenantId, runId: named.id }, { after: Number(cursor ?? 0), limit: limit + 1 })
  const { page, nextCursor } = pageOf(found, limit, ({ seq }) => String(seq))
  return { entries: page.map(({ by: _, ...step }) => step), nextCursor }
}

type Bulk = Filter &
  Readonly<{ slug: string; type: 'cancel' | 'retry'; ids?: readonly string[] | undefined; boardVersion?: number | undefined }>

/**
 * Cancels or retries each run in a transaction of its own; a run that cannot is named with its code. Throws NOT_FOUND, VALIDATION for one version
 * and the runs of several boards.
 */
export async function changeTenantRuns(deps: Deps, actor: Operator, { slug, type, ids, boardVersion, ...filter }: Bulk) {
  const tenantId = await tenantIdOf(deps.db, slug)
  if (ids && boardVersion !== undefined) await assertOneBoard(deps.db, { tenantId, ids })
  const possible = type === 'cancel' ? { unfinished: true } : boardVersion === undefined ? { retryable: true } : { hasFailed: true }
  const found = ids ?? (await searchRuns(deps.db, { tenantId, ...filter, ...possible, limit: maxBulk + 1 })).map(({ id }) => id)
  const [changed, refused] = [[] as string[], [] as { id: string; code: string; message: string }[]]
  for (const id of found.slice(0, maxBulk)) {
    const wrong = await changeOne(deps, actor, { slug, tenantId, id, type, boardVersion })
    if (wrong) refused.push({ id, ...wrong })
    else changed.push(id)
  }
  return { changed, refused, more: found.length > maxBulk }
}

/** Boards count their versions separately, so the same number is another version of each. */
async function assertOneBoard(db: DbOrTx, { tenantId, ids }: Readonly<{ tenantId: string; ids: readonly string[] }>): Promise<void> {
  const boards = await boardsOfRuns(db, { tenantId, ids })
  if (boards.length <= 1) return
  const [one, other] = boards
  const reason = `is a version of one board, but the runs are of ${boards.length}, such as ${one} and ${other}. fix: retry the runs of each board by themselves`
  throw problem('VALIDATION', `boardVersion: ${reason}`, { details: [{ path: 'boardVersion', reason }] })
}

type One = Named & Readonly<{ tenantId: string }> & Pick<Bulk, 'type' | 'boardVersion'>

const changeOne = (deps: Deps, actor: Operator, one: One) =>
  changeRun(deps, actor, one).catch((error: unknown) => {
    if (!isProblem(error)) throw error
    return { code: error.code, message: error.message }
  })

async function changeRun(deps: Deps, actor: Operator, { slug, tenantId, id, type, boardVersion }: One) {
  const found = boardVersion === undefined ? undefined : await findRun(deps.db, { tenantId, id })
  const move = found && (await checkedMove(deps, { run: found, boardVersion, isOperator: true }))
  return deps.db.transaction().execute(async (tx) => {
    const run = await lockRun(tx, { tenantId, id })
    if (!run) throw noSuchRun({ slug, id })
    const { state } = await manageLocked(deps, tx, { run, type, actor, slug, move })
    if (type === 'cancel' || state.failure === null) return undefined
    const { code, message } = runFailed({ id }, operatorFailure(state.failure))
    return { code, message }
  })
}
