import { alertKey, type NewAlert } from '../../../core/alerts/index.ts'
import { boundRole, decidedCodes, isWork, type RunFailure, type RunState, type Token, workerRole } from '../../../core/boards/index.ts'
import { type Clock, plural } from '../../../core/kit/index.ts'
import { canRetry } from '../../../core/runs/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { StepDeps } from './deps.ts'
import type { HistoryInput } from './history.repo.ts'
import type { AppliedStep, Stalled } from './step.types.ts'

/** One alert of a run for each case: it has stalled elements, it has late elements, it failed. */
export const stalledKey = (runId: string): string => alertKey('run_stalled', `users:${runId}`)
const overdueKey = (runId: string): string => alertKey('run_stalled', `late:${runId}`)
const failedKey = (runId: string): string => alertKey('run_stalled', `failed:${runId}`)

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
  if (hasEscalated) await raiseAlert(tx, clock, overdueAlert({ slug, runId: run.id, ...overdueIn({ run, board, at, stalled }) }))
  if (hasStalled) await raiseAlert(tx, clock, stalledAlert({ slug, runId: run.id, elements: stalled }))
  if (failure) {
    const { code, elementId } = failure
    const facts = { slug, runId: run.id, boardId: run.boardId, elementId, code, isRetryable: canRetry(failure) }
    await raiseAlert(tx, clock, failedAlert(facts))
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

type OfRun = Readonly<{ slug: string; runId: string }>

/** Too few active users of the tenant can approve checkpoints, or none can do a task or form, so their run waits for ever. */
export function stalledAlert({
  slug,
  runId,
  elements,
}: OfRun & Readonly<{ elements: readonly Omit<Stalled, 'tokenId' | 'escalationRole'>[] }>): NewAlert {
  const [first, ...others] = elements
  return {
    kind: 'run_stalled',
    key: stalledKey(runId),
    subject: `${slug}/${runId}`,
    title: `An element of a run of ${slug} has too few users`,
    body:
      (first ? `The element ${first.elementId} of run ${runId} ${lacks(first)}. ` : '') +
      (others.length > 0 ? `So it is for ${others.length} more of its elements. ` : '') +
      'The run waits until that changes. Other runs are not affected.\n' +
      'The command below lists the users. Give one of them the role, or enable the user; ' +
      'a user of the school with manageRuns can assign its tasks to others, or cancel the run.',
    command: `tenantry users list ${slug}`,
  }
}

const lacks = ({ kind, role, eligible, required }: Pick<Stalled, 'kind' | 'role' | 'eligible' | 'required'>): string => {
  if (role === null) return `is for the user ${kind === 'task' ? 'to whom it is assigned' : 'who started it'}, and that user is not active`
  if (kind !== 'checkpoint') return `is done by the role ${role}, which no active user has`
  return `needs ${plural(required, 'approval')} of the role ${role}, and only ${plural(eligible, 'active user')} can give one`
}

/** `isStalled`: too few active users can do it now. */
type LateElement = Pick<Stalled, 'elementId' | 'kind' | 'role' | 'escalationRole'> & Readonly<{ isStalled: boolean }>

/** Elements of a run, or the whole run, were not done in time. One alert for each run, since users of the tenant continue it. */
export function overdueAlert({
  slug,
  runId,
  isWhole,
  elements,
}: OfRun & Readonly<{ isWhole: boolean; elements: readonly LateElement[] }>): NewAlert {
  const [first, ...others] = elements
  return {
    kind: 'run_stalled',
    key: overdueKey(runId),
    subject: `${slug}/${runId}`,
    title: `A run of ${slug} is overdue`,
    body:
      (isWhole ? `The whole run ${runId} was not done in time. ` : '') +
      (first ? `The element ${first.elementId} of run ${runId} was not done in time. ${doers(first)} ${lacksUsers(first)}` : '') +
      (others.length > 0 ? `So it is for ${others.length} more of its elements. ` : '') +
      'The run continues to wait. Nothing else is affected.\n' +
      'Ask the school to continue it; a user of the school with manageRuns can cancel it.',
    command: `tenantry runs show ${runId} --tenant ${slug}`,
  }
}

/** The users of the school who can do it now: an escalated task is of the other role alone, a form of both, a checkpoint of its own. */
function doers({ kind, role, escalationRole }: LateElement): string {
  const own = role === null ? 'The user who started the run' : `The role ${role}`
  if (escalationRole === null) return `${own} can do it; its board names no escalation role.`
  if (kind === 'task') return `The role ${escalationRole} has it now.`
  if (kind === 'form') return `${own} can do it, and so can the escalation role ${escalationRole}, which has a task now.`
  return `${own} decides it; the escalation role ${escalationRole} has a task to see to it.`
}

const lacksUsers = ({ kind, isStalled }: LateElement): string => {
  if (!isStalled) return ''
  return kind === 'checkpoint' ? 'Too few active users can decide it at present. ' : 'No active user can do it at present. '
}

type FailedRun = OfRun & Readonly<{ boardId: string; elementId: string | null; code: string; isRetryable: boolean }>

/** A run failed by its board: it waits for ever. Its reason may quote variables, so it is not named. */
const failedAlert = ({ slug, runId, boardId, elementId, code, isRetryable }: FailedRun): NewAlert => ({
  kind: 'run_stalled',
  key: failedKey(runId),
  subject: `${slug}/${runId}`,
  title: `A run of ${slug} failed`,
  body:
    `Run ${runId} of board ${boardId} failed with ${code}${elementId === null ? '' : ` at the element ${elementId}`}. ` +
    'No time of it fires any more, also none that escalates; its open tasks stay open. Other runs are not affected.\n' +
    (isRetryable
      ? `Retry or cancel it: tenantry runs retry ${runId} --tenant ${slug}`
      : 'A retry would fail again. Ask the school to publish a corrected version of the board, and continue with it: ' +
        `tenantry runs retry ${runId} --tenant ${slug} --board-version <version>. ` +
        `Or cancel it, and let the school start a new run: tenantry runs cancel ${runId} --tenant ${slug}`),
  command: `tenantry runs show ${runId} --tenant ${slug}`,
})
