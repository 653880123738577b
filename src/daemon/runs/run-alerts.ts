import { alertOf, failedKey, overdueKey, stalledKey } from '../../core/alerts/index.ts'
import { boundRole, decidedCodes, isWork, type RunFailure, type RunState, type Token, workerRole } from '../../core/boards/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { canRetry } from '../../core/runs/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { DbOrTx, Tx } from '../db/index.ts'
import type { StepDeps } from './deps.ts'
import type { HistoryInput } from './history.repo.ts'
import type { AppliedStep, Stalled } from './step.types.ts'

/** Raises and closes the alerts of a run. They contain ids and roles, never variables. */
export async function alertOperators(
  { clock }: Pick<StepDeps, 'clock'>,
  tx: Tx,
  {
    run,
    board,
    effects,
    input,
    at,
    stalled,
    wasStalled,
    hasStalled,
  }: AppliedStep & Readonly<{ input: HistoryInput; stalled: readonly Stalled[]; wasStalled: boolean; hasStalled: boolean }>,
): Promise<void> {
  const hasEscalated = effects.some(({ type }) => type === 'escalated')
  const failure = failureOf(run)
  const wasFailed = input.type === 'retry' || input.type === 'cancel'
  const keys = [...doneKeys({ run, board, effects, at, stalled, wasStalled }), ...(wasFailed ? [failedKey(run.id)] : [])]
  if (!hasEscalated && !hasStalled && keys.length === 0 && !failure) return
  const slug = await slugOf(tx, run.tenantId)
  const done = { subject: `${slug}/${run.id}`, because: 'the run continued' }
  if (keys.length > 0) await closeAlerts(tx, clock, { ...done, keys })
  // Older versions raised one for each element.
  if (keys.includes(overdueKey(run.id))) await closeAlerts(tx, clock, { ...done, kinds: ['run_overdue'] })
  if (hasEscalated) await raiseAlert(tx, clock, alertOf.run_overdue({ slug, runId: run.id, ...overdueIn({ run, board, at, stalled }) }))
  if (hasStalled) await raiseAlert(tx, clock, alertOf.checkpoint_stalled({ slug, runId: run.id, elements: stalled }))
  if (failure) {
    const { code, elementId } = failure
    const facts = { slug, runId: run.id, boardId: run.boardId, elementId, code, isRetryable: canRetry(failure) }
    await raiseAlert(tx, clock, alertOf.run_failed(facts))
  }
}

/** A failed run takes no step but a retry or a cancel, so each failure is new. A rejection and a cancel are decisions of users. */
const failureOf = ({ state: { failure } }: AppliedStep['run']): RunFailure | undefined =>
  failure && !decidedCodes.includes(failure.code) ? failure : undefined

type Late = Pick<AppliedStep, 'run' | 'board' | 'at'> & Readonly<{ stalled: readonly Stalled[] }>

/** The elements that were not done in time, with the roles that can do them. */
function overdueIn({ run: { state }, board: { graph, definition }, at, stalled }: Late) {
  const stalledIds = new Set(stalled.map(({ tokenId }) => tokenId))
  const late = state.tokens.filter(({ escalated, dueAt }) => escalated || (dueAt !== null && dueAt <= at))
  const elements = late.flatMap(({ id, elementId }) => {
    const element = graph.elements.get(elementId)
    if (!element || !isWork(element)) return []
    const { escalationRole } = element.config
    const other = escalationRole === undefined ? undefined : boundRole(definition, escalationRole)
    const roles = { role: workerRole(definition, element.config), escalationRole: other ?? null }
    return [{ elementId, kind: element.kind, ...roles, isStalled: stalledIds.has(id) }]
  })
  return { isWhole: isOverdue(state, at), elements }
}

const isOverdue = ({ dueAt }: RunState, at: string): boolean => dueAt !== null && dueAt <= at

type Done = Pick<AppliedStep, 'run' | 'board' | 'effects' | 'at'> & Readonly<{ stalled: readonly Stalled[]; wasStalled: boolean }>

/** The alerts that a step ends: of stalled elements once none is, and of late ones once none is open and the run itself has time. */
function doneKeys({ run, board, effects, at, stalled, wasStalled }: Done): string[] {
  const closed = effects.flatMap((effect) => (effect.type === 'closed' ? [effect.token] : []))
  const isCheckpoint = ({ elementId }: Token) => board.graph.elements.get(elementId)?.kind === 'checkpoint'
  const hasEnded = effects.some(({ type }) => type === 'ended')
  const isInTime = hasEnded ? run.state.dueAt !== null || closed.some(wasLate) : closed.some(wasLate) && !run.state.tokens.some(wasLate)
  return [
    ...(stalled.length === 0 && (wasStalled || closed.some(isCheckpoint)) ? [stalledKey(run.id)] : []),
    ...(isInTime && (hasEnded || !isOverdue(run.state, at)) ? [overdueKey(run.id)] : []),
  ]
}

const wasLate = ({ escalated }: Token): boolean => escalated

/** Closes what is still open about a run that is being deleted, such as a message that was not sent. */
export const closeAlertsOfRun = async (
  tx: Tx,
  clock: Clock,
  { tenantId, runId }: Readonly<{ tenantId: string; runId: string }>,
): Promise<void> => closeAlerts(tx, clock, { subject: `${await slugOf(tx, tenantId)}/${runId}`, because: 'the run was deleted' })

export const slugOf = async (db: DbOrTx, tenantId: string): Promise<string> =>
  (await db.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()).slug
