import type { RestoreResult, UpdateResult } from '../../../../core/boxes/index.ts'
import { isoNow, spanMs } from '../../../../core/kit/index.ts'
import {
  type ActionError,
  type ActionStatus,
  evaluateImageRollback,
  evaluateSnapshotRollback,
  type RollbackVerdict,
  rollbackFailed,
} from '../../../../core/rollouts/index.ts'
import { closeAlerts, raiseAlert } from '../../../alerts/index.ts'
import type { StoredAction } from '../../actions.repo.ts'
import { boxRollbackFailed, overdueKey } from '../../alerts.ts'
import { attemptsOf, type Evidence } from '../../attempts.repo.ts'
import { checkpointWhenFinished, engineActor, recordRolloutAudit, updateAction } from '../../publish.ts'

import { closeAttempt } from '../close-attempt.ts'
import { type CommandOf, type LeasedRollout, type LockedAction, onCommand, releaseBox } from '../under-lease.ts'
import { formerDigests, updateOf } from './former-update.ts'

/** The agent reported how the rollback ended. The report counts also after the command expired. */
export const evaluateRollback = (leased: LeasedRollout, command: CommandOf, result: UpdateResult | RestoreResult): Promise<void> =>
  onCommand(leased, command, async (step) => finishRollback(step, await rollbackOutcome(step, result)))

export async function rollbackOutcome(step: LockedAction, result: UpdateResult | RestoreResult): Promise<Ending> {
  const update = await updateOf(step)
  const shows = { fencedMs: result.fencedMs }
  return isUpdateResult(result)
    ? { verdict: evaluateImageRollback(result, formerDigests(step.action, update)), evidence: evidenceOfUpdate(result), shows }
    : { verdict: evaluateSnapshotRollback(result, update.digestsBefore), evidence: evidenceOfRestore(result), shows }
}

/** A command failed, or no agent took it: the rollback of the box ends. The agent has not touched the box. */
export const failRollback = (leased: LeasedRollout, { error, ...command }: CommandOf & Readonly<{ error: ActionError }>): Promise<void> =>
  onCommand(leased, command, (step) => finishRollback(step, { verdict: rollbackFailed(error) }))

const isUpdateResult = (result: UpdateResult | RestoreResult): result is UpdateResult => 'digestsAfter' in result

function evidenceOfUpdate(result: UpdateResult): Evidence {
  const { snapshotId, snapshotSha256, digestsBefore, digestsAfter, probes, composeBackup, restored = null } = result
  const { downtime = null, durationMs, fencedMs, report } = result
  return {
    ...{ snapshotId, snapshotSha256, digestsBefore, digestsAfter, probes, composeBackup },
    ...{ restored, downtime, durationMs, fencedMs, report },
  }
}

function evidenceOfRestore({ probes, durationMs, fencedMs, report }: RestoreResult): Evidence {
  const running = Object.entries(report?.services ?? {})
  const digestsAfter = Object.fromEntries(running.map(([service, one]) => [service, one?.digest ?? null]))
  return { digestsAfter, probes, durationMs, fencedMs, report }
}

/** `shows` goes into the action, `evidence` into the attempt; `replaces`: see `Outcome`. */
type Ending = Readonly<{
  verdict: RollbackVerdict
  shows?: Partial<StoredAction>
  evidence?: Evidence
  replaces?: string | undefined
}>

/** Stores how the rollback of the box ended, releases the box, and raises or closes its alerts. */
export async function finishRollback(step: LockedAction, { verdict, shows = {}, evidence = {}, replaces }: Ending): Promise<undefined> {
  const { clock, action } = step
  const { status, error } = verdict
  const at = isoNow(clock)
  const durationMs = action.startedAt === null ? null : spanMs(action.startedAt, at)
  const ended: StoredAction = {
    ...action,
    ...(status === 'succeeded' ? await timesOfUpdate(step) : { finishedAt: at, durationMs, error, ...shows }),
    status,
    rollback: action.rollback && { ...action.rollback, status: verdict.rollback, error },
    rolledBack: verdict.rollback === 'done',
    step: null,
    overdueAt: null,
  }
  const known = { durationMs, ...evidence, status: attemptStatus(verdict), error, finishedAt: at }
  const sum = await closeAttempt(step, known, evidence.durationMs ?? null)
  await releaseBox(step)
  await updateAction(step, action, ended)
  await updateAlerts(step, verdict)
  await checkpointWhenFinished(step)
  const data = {
    slug: ended.tenantSlug,
    attempt: ended.attempt,
    by: ended.rollback?.mode,
    status,
    error,
    evidence: sum,
    ...(replaces ? { replaces } : {}),
  }
  const isRolledBack = verdict.rollback === 'done'
  await recordRolloutAudit(step, {
    actor: engineActor,
    action: isRolledBack ? 'rollout.action.rolled_back' : 'rollout.action.rollback_failed',
    data,
  })
}

/** A box that stays as updated shows the times of its update. */
async function timesOfUpdate({ tx, action }: LockedAction): Promise<Partial<StoredAction>> {
  const update = (await attemptsOf(tx, action.id)).findLast(({ kind, status }) => kind === 'update' && status === 'succeeded')
  if (!update) return { error: null }
  const { startedAt, finishedAt, fencedMs } = update
  const durationMs = finishedAt === null ? null : spanMs(startedAt, finishedAt)
  return { startedAt, finishedAt, durationMs, fencedMs, progress: null, error: null }
}

const attemptStatus = ({ rollback, status }: RollbackVerdict): ActionStatus =>
  rollback === 'done' ? 'rolled_back' : status === 'rollback_failed' ? status : 'failed'

async function updateAlerts({ tx, clock, rollout, action }: LockedAction, { rollback, status, error }: RollbackVerdict): Promise<void> {
  const { tenantSlug: slug, attempt } = action
  const box = { rolloutId: rollout.id, slug, attempt }
  if (rollback === 'done')
    await closeAlerts(tx, clock, { subject: slug, kinds: ['update_failed', 'rollback_failed'], because: 'the box was rolled back' })
  else await closeAlerts(tx, clock, { keys: [overdueKey(box)], because: 'its agent reported the outcome' })
  if (rollback === 'failed') await raiseAlert(tx, clock, boxRollbackFailed({ ...box, error, isDown: status === 'rollback_failed' }))
}
