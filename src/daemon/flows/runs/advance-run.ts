import {
  type Board,
  boundRole,
  hasEnded,
  isWork,
  type RunFailure,
  type RunInput,
  stepRun,
  type Token,
  type WorkElement,
  workerRole,
} from '../../../core/boards/index.ts'
import { type Actor, isoNow, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import { canRetry, mayActOn, type RunSummary } from '../../../core/runs/index.ts'
import { mayMove } from '../../../core/tasks/index.ts'
import { recordAudit } from '../../audit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { findTask } from '../../tasks/index.ts'
import { applyStep } from './apply-step.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { openElements } from './elements.repo.ts'
import { eligibleFor } from './eligible-users.ts'
import { assertBeforeDrawings, assertFiles, hasDrawing, storeSignatures } from './form-files.ts'
import { earlierAnswer, type Keyed } from './history.repo.ts'
import { namesOfRun } from './run-names.ts'
import { lockRun, type RunRecord, summaryOf } from './runs.repo.ts'
import { mayRead, noSuchRun } from './show-runs.ts'

type Action = 'complete' | 'approve' | 'reject' | 'submit' | 'skip'
type Advance = Readonly<{
  id: string
  elementId: string
  action: Action
  data?: Readonly<Record<string, unknown>> | undefined
  expectedSeq?: number | undefined
}>

/**
 * Applies the action of a user to an element that the run waits at. A repeated call with the same key gets the stored answer. Throws NOT_FOUND,
 * FORBIDDEN (not the role of the element), RUN_CHANGED, RUN_ENDED, RUN_FAILED, ELEMENT_NOT_ACTIVE, KEY_REUSED, INVALID_TRANSITION, VALIDATION
 * (values of a form), PAYLOAD_TOO_LARGE.
 */
export async function advanceRun(
  deps: Pick<RunsDeps, 'db' | 'clock' | 'random' | 'storeFile'>,
  actor: PlatformPrincipal,
  { id, idempotencyKey: key, ...advance }: Advance & Readonly<{ idempotencyKey?: string | undefined }>,
): Promise<RunSummary> {
  const keyed = key === undefined ? undefined : keyedBy(actor, key, advance)
  try {
    const prepared = hasDrawing(advance.data ?? {}) ? await withSignatures(deps, actor, { id, ...advance }) : advance
    return await deps.db.transaction().execute((tx) => advanceOnce(deps, tx, { id, actor, advance: prepared, keyed }))
  } catch (error) {
    // A repeated request meets a run that has moved on, or the stored key: the first time needs no look-up.
    const earlier = keyed && (await earlierAnswer(deps.db, { tenantId: actor.tenantId, id }, keyed))
    if (earlier) return earlier
    throw error
  }
}

/** Stores the signatures of a form that the caller may submit now. The run is checked again when it is locked. */
async function withSignatures(
  deps: Pick<RunsDeps, 'db' | 'storeFile'>,
  actor: PlatformPrincipal,
  { id, ...advance }: Advance,
): Promise<Omit<Advance, 'id'>> {
  const { run, form } = await deps.db.transaction().execute(async (tx) => {
    const locked = await lockReadableRun(tx, actor, id)
    const { board, element } = await openElement(tx, locked, advance)
    await assertRole(tx, actor, { run: locked, element })
    const found = board.graph.elements.get(advance.elementId)
    if (found?.kind !== 'form' || advance.action !== 'submit') return { run: locked, form: undefined }
    await assertBeforeDrawings(tx, { run: locked, element: found, by: actor.userId, values: advance.data ?? {} })
    return { run: locked, form: found }
  })
  if (!form) return advance
  return { ...advance, data: await storeSignatures(deps, { run, element: form, by: actor.userId, values: advance.data ?? {} }) }
}

type Once = Readonly<{ id: string; actor: PlatformPrincipal; advance: Omit<Advance, 'id'>; keyed: Keyed | undefined }>

async function advanceOnce(deps: Pick<RunsDeps, 'clock' | 'random'>, tx: Tx, { id, actor, advance, keyed }: Once): Promise<RunSummary> {
  const run = await lockReadableRun(tx, actor, id)
  const { board, element } = await openElement(tx, run, advance)
  await assertRole(tx, actor, { run, element })
  const input = await inputOf(tx, { run, board, actor, advance })
  const after = await advanceLocked(deps, tx, { run, input, keyed })
  if (after === run) return (keyed && (await earlierAnswer(tx, run, keyed))) ?? summaryOf(run)
  if (advance.action === 'skip')
    await auditRun(deps, tx, { actor, slug: actor.tenantSlug, run, action: 'run.skipped', elementId: advance.elementId })
  return summaryOf(after)
}

/** The caller may read the run, which is locked. Throws NOT_FOUND for a missing run and one that the caller may not read. */
export async function lockReadableRun(tx: Tx, actor: PlatformPrincipal, id: string): Promise<RunRecord> {
  return assertReadable(tx, actor, { id, run: await lockRun(tx, { tenantId: actor.tenantId, id }) })
}

type Found = Readonly<{ id: string; run: RunRecord | undefined }>

export async function assertReadable(db: DbOrTx, actor: PlatformPrincipal, { id, run }: Found): Promise<RunRecord> {
  if (!run || !(await mayRead(db, actor, run))) throw noSuchRun(id)
  return run
}

/** Keys belong to their user, so they cannot meet those of others. */
const keyedBy = ({ userId }: PlatformPrincipal, key: string, request: Omit<Advance, 'id'>): Keyed => {
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw problem('VALIDATION', 'Idempotency-Key must be 1 to 200 letters, digits or signs without spaces')
  const { elementId, action, data = null, expectedSeq = null } = request
  return { key: `${userId}:${key}`, request: JSON.stringify([elementId, action, data, expectedSeq]) }
}

async function openElement(
  db: DbOrTx,
  run: RunRecord,
  { elementId, expectedSeq }: Omit<Advance, 'id'>,
): Promise<Readonly<{ board: Board; element: OpenElement }>> {
  const { state } = run
  if (hasEnded(state))
    throw problem('RUN_ENDED', `Run ${run.id} has ended (${state.failure?.code.toLowerCase() ?? state.status}), and cannot change.`)
  if (state.failure) throw runFailed(run, state.failure)
  if (expectedSeq !== undefined && expectedSeq !== state.seq)
    throw problem('RUN_CHANGED', `Run ${run.id} is at seq ${state.seq}, not ${expectedSeq}. fix: read it again and repeat your action`)
  const board = await boardOf(db, { tenantId: run.tenantId, boardId: run.boardId, version: run.boardVersion })
  if (!board.graph.elements.has(elementId)) throw problem('NOT_FOUND', `The board of the run has no element ${elementId}; ${openIn(run)}.`)
  const token = state.tokens.find((one) => one.elementId === elementId)
  const element = board.graph.elements.get(elementId)
  if (token && element && isWork(element)) return { board, element: waitingFor(board, element, token) }
  const waits = run.active.elementIds.join(', ') || 'nothing'
  throw problem('ELEMENT_NOT_ACTIVE', `Run ${run.id} does not wait for a user at ${elementId}; it waits for: ${waits}.`)
}

const openIn = ({ active }: RunRecord): string => `the run waits for: ${active.elementIds.join(', ') || 'nothing'}`

const nextOf = (failure: RunFailure): string =>
  canRetry(failure) ? 'retries or cancels it' : `${withCorrected}, or cancels it and starts a new run`
export const withCorrected = 'retries it with a corrected version of the board (boardVersion)'

/** A run that failed, and what can be done. */
export const runFailed = ({ id }: Pick<RunRecord, 'id'>, failure: RunFailure) =>
  problem('RUN_FAILED', `Run ${id} failed: ${failure.message}. fix: a user with manageRuns ${nextOf(failure)}`)

/** An element that waits for a user. `role`: null for the user who started the run. `escalationRole`: only once it was escalated. */
type OpenElement = Readonly<{
  tokenId: string
  kind: WorkElement['kind']
  label: string
  role: string | null
  escalationRole: string | null
}>

function waitingFor({ definition }: Board, { kind, label, config }: WorkElement, { id, escalated }: Token): OpenElement {
  const { escalationRole } = config
  const also = escalated && escalationRole !== undefined ? boundRole(definition, escalationRole) : undefined
  return { tokenId: id, kind, label, role: workerRole(definition, config), escalationRole: also ?? null }
}

type Waited = Readonly<{ run: RunRecord; element: OpenElement }>

async function assertRole(db: DbOrTx, actor: PlatformPrincipal, { run, element }: Waited): Promise<void> {
  const { kind, label, role, escalationRole } = element
  if (kind === 'task') return assertTaskOf(db, actor, { run, element })
  if (role === null && run.state.startedBy === actor.userId) return
  if (mayActOn([role, kind === 'form' ? escalationRole : null], actor)) return
  throw problem('FORBIDDEN', `"${label}" is done by ${doerOf(role)}.`)
}

const doerOf = (role: string | null): string => (role === null ? 'the user who started the run' : `the role ${role}, which you do not have`)

/** The rule of tasks alone: the task may have been assigned or escalated by other paths than the run. */
async function assertTaskOf(db: DbOrTx, actor: PlatformPrincipal, { run, element: { tokenId, label, role } }: Waited): Promise<void> {
  const { tenantId, id: runId } = run
  const taskId = (await openElements(db, { tenantId, runId })).find((one) => one.tokenId === tokenId)?.taskId
  const task = taskId ? await findTask(db, { tenantId, id: taskId }) : undefined
  if (task && mayMove(task, actor, { type: 'complete' })) return
  const owner = task?.assigneeId && role !== null ? 'its assignee alone' : doerOf(task?.assignedRole ?? role)
  throw problem('FORBIDDEN', `"${label}" is done by ${owner}.`)
}

/** Accepted values that nothing stores would be lost without notice. */
const noData = (action: Exclude<Action, 'submit'>) => {
  const reason = `must be empty for ${action}: only the values of a form are stored`
  return problem('VALIDATION', `data: ${reason}. fix: ask for a comment with a form`, { details: [{ path: 'data', reason }] })
}

type Asked = Readonly<{ run: RunRecord; board: Board; actor: PlatformPrincipal; advance: Omit<Advance, 'id'> }>

async function inputOf(db: DbOrTx, { run, board, actor: { userId: by }, advance }: Asked): Promise<RunInput> {
  const { elementId, action, data = {} } = advance
  const element = board.graph.elements.get(elementId)
  if (action === 'submit') {
    if (element?.kind === 'form') await assertFiles(db, { run, element, by, values: data })
    return { type: 'submit', elementId, by, values: data }
  }
  if (Object.keys(data).length > 0) throw noData(action)
  if (action !== 'approve') return { type: action, elementId, by }
  const eligible = element?.kind === 'checkpoint' ? await eligibleFor(db, { run, definition: board.definition, element }) : []
  // Only those whose approvals count are stored in the history.
  const approvers = new Set([by, ...run.state.tokens.flatMap((token) => token.approvals.map(({ userId }) => userId))])
  return { type: 'approve', elementId, by, eligible: eligible.filter((id) => approvers.has(id)) }
}

const namesOf = (deps: StepDeps, db: DbOrTx, { run, board }: Readonly<{ run: RunRecord; board: Board }>) =>
  namesOfRun(deps, db, { tenantId: run.tenantId, names: { board: run.boardName, run: run.id }, board, started: run.state })

type Locked = Readonly<{ run: RunRecord; input: RunInput; keyed?: Keyed | undefined }>

/** Steps a run that the caller has locked, in the caller's transaction. An input that changes nothing returns the same run. */
export async function advanceLocked(deps: StepDeps, tx: Tx, { run, input, keyed }: Locked): Promise<RunRecord> {
  const board = await boardOf(tx, { tenantId: run.tenantId, boardId: run.boardId, version: run.boardVersion })
  const names = await namesOf(deps, tx, { run, board })
  const stepped = stepRun({ board, now: isoNow(deps.clock), names }, run.state, input)
  if (stepped.run === run.state) return run
  return (await applyStep(deps, tx, { run, stepped, input, keyed })) as RunRecord
}

type Audited = Readonly<{
  actor: Actor
  slug: string
  run: RunRecord
  action: 'run.skipped' | 'run.cancelled' | 'run.retried'
  elementId?: string
  boardVersion?: number
}>

export async function auditRun({ clock }: Pick<RunsDeps, 'clock'>, tx: Tx, { actor, slug, run, action, ...more }: Audited): Promise<void> {
  const data = { runId: run.id, boardId: run.boardId, ...more }
  await recordAudit(tx, clock, { actor, action, subject: slug, data })
}
