import { alertKey, type NewAlert } from '../../../core/alerts/index.ts'
import {
  boundRole,
  decidedCodes,
  isWork,
  type RunFailure,
  type RunState,
  type Token,
  type WorkElement,
  workerRole,
} from '../../../core/boards/index.ts'
import type { Clock } from '../../../core/kit/index.ts'
import { canRetry } from '../../../core/runs/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { StepDeps } from './deps.ts'
import type { HistoryInput } from './history.repo.ts'
import type { AppliedStep } from './step.types.ts'

/** One alert of a run for each case: it has late elements, it failed. */
const overdueKey = (runId: string): string => alertKey('run_stalled', `late:${runId}`)
const failedKey = (runId: string): string => alertKey('run_stalled', `failed:${runId}`)

/** Raises and closes the alerts of a run. They contain ids and roles, never variables. */
export async function alertOperators(
  { clock }: Pick<StepDeps, 'clock'>,
  tx: Tx,
  { run, board, effects, input, at }: AppliedStep & Readonly<{ input: HistoryInput }>,
): Promise<void> {
  const hasEscalated = effects.some(({ type }) => type === 'escalated')
  const failure = failureOf(run)
  const wasFailed = input.type === 'retry' || input.type === 'cancel'
  const keys = [...(endsOverdue({ run, effects, at }) ? [overdueKey(run.id)] : []), ...(wasFailed ? [failedKey(run.id)] : [])]
  if (!hasEscalated && keys.length === 0 && !failure) return
  const slug = await slugOf(tx, run.tenantId)
  const done = { subject: `${slug}/${run.id}`, because: 'the run continued' }
  if (keys.length > 0) await closeAlerts(tx, clock, { ...done, keys })
  if (hasEscalated) await raiseAlert(tx, clock, overdueAlert({ slug, runId: run.id, ...overdueIn({ run, board, at }) }))
  if (failure) {
    const { code, elementId } = failure
    const facts = { slug, runId: run.id, boardId: run.boardId, elementId, code, isRetryable: canRetry(failure) }
    await raiseAlert(tx, clock, failedAlert(facts))
  }
}

/** A failed run takes no step but a retry or a cancel, so each failure is new. A rejection and a cancel are decisions of users. */
const failureOf = ({ state: { failure } }: AppliedStep['run']): RunFailure | undefined =>
  failure && !decidedCodes.includes(failure.code) ? failure : undefined

type Late = Pick<AppliedStep, 'run' | 'board' | 'at'>

/** The elements that were not done in time, with the roles that can do them. */
function overdueIn({ run: { state }, board: { graph, definition }, at }: Late) {
  const late = state.tokens.filter(({ escalated, dueAt }) => escalated || (dueAt !== null && dueAt <= at))
  const elements = late.flatMap(({ elementId }) => {
    const element = graph.elements.get(elementId)
    if (!element || !isWork(element)) return []
    const { escalationRole } = element.config
    const other = escalationRole === undefined ? undefined : boundRole(definition, escalationRole)
    const roles = { role: workerRole(definition, element.config), escalationRole: other ?? null }
    return [{ elementId, kind: element.kind, ...roles }]
  })
  return { isWhole: isOverdue(state, at), elements }
}

const isOverdue = ({ dueAt }: RunState, at: string): boolean => dueAt !== null && dueAt <= at

type Done = Pick<AppliedStep, 'run' | 'effects' | 'at'>

/** Whether a step ends the alert of late elements: none is open, and the run itself has time. */
function endsOverdue({ run, effects, at }: Done): boolean {
  const closed = effects.flatMap((effect) => (effect.type === 'closed' ? [effect.token] : []))
  if (effects.some(({ type }) => type === 'ended')) return run.state.dueAt !== null || closed.some(wasLate)
  return closed.some(wasLate) && !run.state.tokens.some(wasLate) && !isOverdue(run.state, at)
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

/** `role`: null for the user who started the run. */
type LateElement = Readonly<{ elementId: string; kind: WorkElement['kind']; role: string | null; escalationRole: string | null }>

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
      (first ? `The element ${first.elementId} of run ${runId} was not done in time. ${doers(first)} ` : '') +
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
