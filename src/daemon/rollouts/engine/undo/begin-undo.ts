import { isoNow } from '../../../../core/kit/index.ts'
import { awaitsRollback, rollbackFailed } from '../../../../core/rollouts/index.ts'
import type { Tx } from '../../../db/index.ts'
import { actionBySlug, replaceAction, type StoredAction } from '../../actions.repo.ts'
import { insertAttempt, keepEvidence } from '../../attempts.repo.ts'
import type { RolloutsDeps } from '../../deps.ts'
import { knownBox } from '../../known-boxes.ts'
import type { StoredRollout } from '../../rollouts.repo.ts'
import { engineActor, recordRolloutAudit, tell } from '../../tell.ts'
import { hold, observeMs } from '../begin-action.ts'
import { asOwner, leftMs, type Owned, type Sent, send } from '../owned.ts'
import { settleUndo } from './settle-undo.ts'

/**
 * The turn of a box to be brought back: it is held, and its agent asked what runs now. Nothing happens when it is not to be brought back any
 * more, or when somebody else was faster to hold the box: then it waits.
 */
export const beginUndo = (owned: Owned, slug: string): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await actionBySlug(tx, rollout.id, slug)
    if (!awaitsRollback(action) || rollout.status !== 'rolled_back') return undefined
    const box = await knownBox(deps, tx, slug)
    const isSame = box?.boxId === action.boxId
    if (isSame && !(await hold(tx, deps, rollout, box))) return undefined
    const begun = await openAttempt(tx, deps, rollout, action, box?.hostId ?? action.hostId)
    if (!isSame) return settleUndo(tx, deps, rollout, begun, { verdict: rollbackFailed(gone(slug)) })
    const payload = { slug, boxId: box.boxId, ownershipEpoch: box.ownershipEpoch }
    const deadlineMs = Math.min(observeMs, leftMs(deps, begun))
    const sent = await send(tx, deps, begun, { step: 'observe', kind: 'tenant-box.report_versions', payload, deadlineMs })
    await replaceAction(tx, begun, sent)
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: sent })
    const data = { slug, attempt: sent.attempt, hostId: sent.hostId, by: action.undo?.mode }
    await recordRolloutAudit(tx, deps.clock, rollout, { actor: engineActor, action: 'rollout.action.undo_begun', data })
    return sent
  })

const gone = (slug: string) => ({ code: 'NOT_FOUND', message: `the box of ${slug} that was updated is not its live box any more` })

/** What the update made of the action stays in it until the way back has an end. */
async function openAttempt(
  tx: Tx,
  { clock }: RolloutsDeps,
  rollout: StoredRollout,
  action: StoredAction,
  hostId: string,
): Promise<StoredAction> {
  const at = isoNow(clock)
  const mode = action.undo?.mode ?? 'images'
  const begun: StoredAction = {
    ...action,
    ...untold,
    hostId,
    status: 'rolling_back',
    undo: { mode, status: 'running', error: null },
    attempt: action.attempt + 1,
    startedAt: at,
  }
  await replaceAction(tx, action, begun)
  const which = { actionId: action.id, attempt: begun.attempt }
  await insertAttempt(tx, { ...which, kind: `undo-${mode}`, rolloutId: rollout.id, at })
  await keepEvidence(tx, which, { status: 'rolling_back' })
  return begun
}

const untold = {
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
