import { alertOf, failedKey, overdueKey, stalledKey } from '../../core/alerts/index.ts'
import type { RunFailure } from '../../core/boards/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { canRetry } from '../../core/runs/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'
import type { HistoryInput } from './history.repo.ts'
import type { Stalled } from './stalled-checkpoints.ts'

/** Raises and closes the alerts of a run. They contain ids and roles, never variables. */
export async function alertOperators(
  { clock }: Pick<StepDeps, 'clock'>,
  tx: Tx,
  {
    run,
    board,
    effects,
    input,
    stalled,
    hasStalled,
  }: AppliedStep & Readonly<{ input: HistoryInput; stalled: readonly Stalled[]; hasStalled: boolean }>,
): Promise<void> {
  const escalated = effects.flatMap((effect) => (effect.type === 'escalated' ? [effect] : []))
  const failure = failureOf(run)
  const wasFailed = input.type === 'retry' || input.type === 'cancel'
  const keys = [...doneKeys({ run, board, effects, stalled }), ...(wasFailed ? [failedKey(run.id)] : [])]
  if (escalated.length === 0 && !hasStalled && keys.length === 0 && !failure) return
  const slug = await slugOf(tx, run.tenantId)
  if (keys.length > 0) await closeAlerts(tx, clock, { subject: `${slug}/${run.id}`, keys, because: 'the run continued' })
  // At the end of the time of the run, one alert for all that waits.
  const ofRun = escalated.filter(({ elementId }) => elementId === null)
  for (const { elementId, role } of ofRun.length > 0 ? ofRun : escalated)
    await raiseAlert(tx, clock, alertOf.run_overdue({ slug, runId: run.id, elementId, role }))
  if (hasStalled) await raiseAlert(tx, clock, alertOf.checkpoint_stalled({ slug, runId: run.id, checkpoints: stalled }))
  if (failure) {
    const { code, elementId } = failure
    const facts = { slug, runId: run.id, boardId: run.boardId, elementId, code, isRetryable: canRetry(failure) }
    await raiseAlert(tx, clock, alertOf.run_failed(facts))
  }
}

/** A failed run takes no step but a retry or a cancel, so each failure is new. A rejection and a cancel are decisions of users. */
const failureOf = ({ state: { failure } }: AppliedStep['run']): RunFailure | undefined =>
  failure && failure.code !== 'REJECTED' && failure.code !== 'CANCELLED' ? failure : undefined

type Done = Pick<AppliedStep, 'run' | 'board' | 'effects'> & Readonly<{ stalled: readonly Stalled[] }>

/** The alerts of the elements that closed, and of the run if it ended. While another checkpoint is stalled, their alert stays. */
const doneKeys = ({ run, board, effects, stalled }: Done): string[] =>
  effects.flatMap((effect) => {
    if (effect.type === 'ended') return run.state.dueAt === null ? [] : [overdueKey(run.id, null)]
    if (effect.type !== 'closed') return []
    const { elementId, escalated } = effect.token
    const isCheckpoint = board.graph.elements.get(elementId)?.kind === 'checkpoint'
    return [...(isCheckpoint && stalled.length === 0 ? [stalledKey(run.id)] : []), ...(escalated ? [overdueKey(run.id, elementId)] : [])]
  })

/** Closes what is still open about a run that is being deleted, such as a message that was not sent. */
export const closeAlertsOfRun = async (
  tx: Tx,
  clock: Clock,
  { tenantId, runId }: Readonly<{ tenantId: string; runId: string }>,
): Promise<void> => closeAlerts(tx, clock, { subject: `${await slugOf(tx, tenantId)}/${runId}`, because: 'the run was deleted' })

export const slugOf = async (tx: Tx, tenantId: string): Promise<string> =>
  (await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()).slug
