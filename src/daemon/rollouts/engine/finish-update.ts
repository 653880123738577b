import type { NewAlert } from '../../../core/alerts/index.ts'
import type { UpdateResult } from '../../../core/boxes/index.ts'
import { isoNow, spanMs } from '../../../core/kit/index.ts'
import { type ActionError, type ActionStatus, evaluateUpdate as evaluateResult } from '../../../core/rollouts/index.ts'
import { closeAlerts, raiseAlert } from '../../alerts/index.ts'
import type { StoredAction } from '../actions.repo.ts'
import { overdueKey, updateFailed, updateLeftDown } from '../alerts.ts'
import type { Evidence } from '../attempts.repo.ts'
import { checkpointWhenFinished, engineActor, recordRolloutAudit, updateAction } from '../publish.ts'

import { closeAttempt } from './close-attempt.ts'
import { type CommandOf, type LeasedRollout, type LockedAction, onCommand, releaseBox } from './under-lease.ts'

/** How an attempt at an update ended. */
export type Outcome = Readonly<{
  status: ActionStatus
  error: ActionError | null
  /** Goes into the action. */
  shows?: Partial<StoredAction>
  /** Goes into the attempt. */
  evidence?: Evidence
  /** The box serves a version that was not proven healthy. */
  leftOpen?: boolean | undefined
  /** The box runs an image that was not ordered. */
  runsOther?: boolean | undefined
  /** Checksum of the evidence of an earlier report of the same attempt. */
  replaces?: string | undefined
}>

/** The agent reported how its update ended. The report counts also after the command expired. */
export const evaluateUpdate = (leased: LeasedRollout, command: CommandOf, result: UpdateResult): Promise<void> =>
  onCommand(leased, command, (step) => finishUpdate(step, outcomeOf(step, result)))

/** A command failed, or no agent took it: the attempt ends. The agent has not touched the box. */
export const failUpdate = (leased: LeasedRollout, { error, ...command }: CommandOf & Readonly<{ error: ActionError }>): Promise<void> =>
  onCommand(leased, command, (step) => finishUpdate(step, { status: 'failed', error }))

export function outcomeOf({ rollout, action }: LockedAction, result: UpdateResult): Outcome {
  const ordered = Object.entries(action.images).map(([service, image]) => [service, rollout.digests[image] as string])
  const { status, error, runsOther } = evaluateResult(result, Object.fromEntries(ordered))
  const { snapshotOk, healthOk, snapshotId, snapshotSha256, fencedMs, durationMs, composeBackup, probes, report } = result
  const { digestsBefore, digestsAfter, restored = null, downtime = null, logs = null } = result
  // An agent that committed an image that was not ordered has not done this update.
  const updateOk = result.updateOk && error?.code !== 'DIGEST_MISMATCH'
  const rolledBack = result.rolledBack && status === 'rolled_back'
  return {
    status,
    error,
    leftOpen: result.leftOpen,
    runsOther,
    shows: { snapshotOk, updateOk, healthOk, rolledBack, snapshotId, fencedMs, ...(downtime ? { fenceMode: downtime.mode } : {}) },
    evidence: {
      ...{ snapshotId, snapshotSha256, digestsBefore, digestsAfter, probes, composeBackup },
      ...{ restored, downtime, logs, durationMs, fencedMs, report },
    },
  }
}

/** Stores the outcome, releases the box, and raises or closes its alerts; also after the rollout itself is finished. */
export async function finishUpdate(step: LockedAction, outcome: Outcome): Promise<undefined> {
  const { clock, action } = step
  const { status, error, shows = {}, evidence = {}, replaces } = outcome
  const at = isoNow(clock)
  const durationMs = action.startedAt === null ? null : spanMs(action.startedAt, at)
  // The rollout may have been rolled back with its boxes meanwhile: a box that was not updated needs no rollback.
  const rollback = status === 'succeeded' ? action.rollback : null
  const ended: StoredAction = {
    ...action,
    ...shows,
    status,
    rollback,
    error,
    step: null,
    overdueAt: null,
    finishedAt: at,
    durationMs,
  }
  const sum = await closeAttempt(step, { durationMs, ...evidence, status, error, finishedAt: at }, evidence.durationMs ?? null)
  await releaseBox(step)
  await updateAction(step, action, ended)
  await checkpointWhenFinished(step)
  await updateAlerts(step, ended, outcome)
  const { tenantSlug: slug, attempt, snapshotId } = ended
  const data = { slug, attempt, snapshotId, error, evidence: sum, ...(replaces ? { replaces } : {}) }
  await recordRolloutAudit(step, { actor: engineActor, action: `rollout.action.${status}`, data })
}

async function updateAlerts({ tx, clock, action }: LockedAction, ended: StoredAction, outcome: Outcome): Promise<void> {
  const { rolloutId, tenantSlug: slug, attempt, status } = ended
  // Also those that earlier attempts of any rollout left open: the box is proven healthy now.
  if (status === 'succeeded')
    await closeAlerts(tx, clock, { subject: slug, kinds: ['update_failed'], because: 'an update of the box succeeded' })
  else if (action.overdueAt !== null)
    await closeAlerts(tx, clock, { keys: [overdueKey({ rolloutId, slug, attempt })], because: 'its agent reported the outcome' })
  const alert = alertFor(ended, outcome)
  if (alert) await raiseAlert(tx, clock, alert)
}

/** A failure before anything was touched raises none: its rollout pauses and says so. */
function alertFor(
  { rolloutId, tenantSlug: slug, attempt, status, error }: StoredAction,
  { leftOpen, runsOther, evidence }: Outcome,
): NewAlert | undefined {
  const box = { rolloutId, slug, attempt, error, logs: evidence?.logs ?? null }
  if (status === 'rollback_failed') return updateLeftDown(box)
  if (status === 'rolled_back') return updateFailed('rolled_back', box)
  if (status !== 'failed') return undefined
  if (runsOther) return updateFailed('wrong_image', box)
  if (leftOpen) return updateFailed('opened_early', box)
  return error?.code === 'PROBE_FAILED' ? updateFailed('unhealthy', box) : undefined
}
