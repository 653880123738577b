import { isoNow } from '../../../../core/kit/index.ts'
import { awaitsRollback, rollbackFailed } from '../../../../core/rollouts/index.ts'
import { replaceAction, type StoredAction } from '../../actions.repo.ts'
import { insertAttempt, recordEvidence } from '../../attempts.repo.ts'
import { knownBox } from '../../known-boxes.ts'
import { engineActor, recordRolloutAudit, updateAction } from '../../publish.ts'
import { queueObservation } from '../begin-update.ts'
import { holdForRollout } from '../hold-box.ts'
import { type ActionTx, type LeasedRollout, onAction } from '../under-lease.ts'
import { finishRollback } from './finish-rollback.ts'

/**
 * First step of a rollback: holds the box and asks its agent what runs. Nothing happens where the box waits for a rollback no longer, or
 * where another owner holds it: then it waits.
 */
export const beginRollback = (leased: LeasedRollout, slug: string): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { tx, deps, rollout, action } = step
    if (!awaitsRollback(action) || rollout.status !== 'rolled_back') return undefined
    const box = await knownBox(deps, tx, slug)
    const isSameBox = box?.boxId === action.boxId
    if (isSameBox && !(await holdForRollout(step, box.boxId))) return undefined
    const begun = { ...step, action: await openAttempt(step, box?.hostId ?? action.hostId) }
    if (!isSameBox) return finishRollback(begun, { verdict: rollbackFailed(replaced(slug)) })
    const queued = await queueObservation(begun, box)
    await updateAction(begun, begun.action, queued)
    const data = { slug, attempt: queued.attempt, hostId: queued.hostId, by: action.undo?.mode }
    await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.action.undo_begun', data })
    return queued
  })

const replaced = (slug: string) => ({ code: 'NOT_FOUND', message: `the box of ${slug} that was updated is not its live box any more` })

/** The action keeps what its update did to it until the rollback ends. */
async function openAttempt({ tx, clock, rollout, action }: ActionTx, hostId: string): Promise<StoredAction> {
  const at = isoNow(clock)
  const mode = action.undo?.mode ?? 'images'
  const begun: StoredAction = {
    ...action,
    ...unreported,
    hostId,
    status: 'rolling_back',
    undo: { mode, status: 'running', error: null },
    attempt: action.attempt + 1,
    startedAt: at,
  }
  await replaceAction(tx, action, begun)
  const which = { actionId: action.id, attempt: begun.attempt }
  await insertAttempt(tx, { ...which, kind: `undo-${mode}`, rolloutId: rollout.id, at })
  await recordEvidence(tx, which, { status: 'rolling_back' })
  return begun
}

const unreported = {
  step: null,
  commandId: null,
  images: {},
  progress: null,
  finishedAt: null,
  overdueAt: null,
  durationMs: null,
  fencedMs: null,
  error: null,
} as const
