import { isoNow } from '../../../core/kit/index.ts'
import { calendarsFrom, closedWindow, type KnownBox, phaseOf, updateNeedsMs } from '../../../core/rollouts/index.ts'
import { replaceAction, type StoredAction, untried } from '../actions.repo.ts'
import { insertAttempt } from '../attempts.repo.ts'
import { knownBox } from '../known-boxes.ts'
import { engineActor, recordRolloutAudit, updateAction } from '../publish.ts'
import { keepsWindows } from './closed-windows.repo.ts'
import { finishUpdate } from './finish-update.ts'
import { holdForRollout } from './hold-box.ts'
import { type ActionTx, type EngineTx, type LeasedRollout, onAction, queueCommand, remainingMs } from './under-lease.ts'

/** A host that does not report its versions within this time fails the attempt and frees the slot. */
const maxObserveMs = 10 * 60_000

/**
 * First step of an update: holds the box and asks its agent what runs. The box stays pending where the rollout has left the phase, where
 * another owner holds the box, or where its window has closed.
 */
export const beginUpdate = (leased: LeasedRollout, slug: string): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { tx, deps, rollout, action } = step
    if (action.status !== 'pending' || phaseOf(rollout) !== action.phase) return undefined
    const box = await knownBox(deps, tx, slug)
    if (box && isWindowTooShort(step, box, updateNeedsMs(action))) return undefined
    if (box && !(await holdForRollout(step, box.boxId))) return undefined
    const begun = await openAttempt(step, box)
    if (!box) {
      await replaceAction(tx, action, begun)
      return finishUpdate({ ...step, action: begun }, { status: 'failed', error: noLiveBox(slug) })
    }
    const queued = await queueObservation({ ...step, action: begun }, box)
    await updateAction(step, action, queued)
    const data = { slug, attempt: queued.attempt, hostId: queued.hostId }
    await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.action.begun', data })
    return queued
  })

async function openAttempt({ tx, clock, rollout, action }: ActionTx, box: KnownBox | undefined): Promise<StoredAction> {
  const at = isoNow(clock)
  const attempt = action.attempt + 1
  await insertAttempt(tx, { actionId: action.id, attempt, rolloutId: rollout.id, at })
  const place = box ? { boxId: box.boxId, hostId: box.hostId } : {}
  return { ...action, ...untried, ...place, status: 'preflight', attempt, startedAt: at }
}

/** Asks the agent which versions run, for the preflight of an update or of a rollback. */
export const queueObservation = (step: ActionTx, { slug, boxId, ownershipEpoch }: KnownBox): Promise<StoredAction> =>
  queueCommand(step, {
    step: 'observe',
    kind: 'tenant-box.report_versions',
    payload: { slug, boxId, ownershipEpoch },
    deadlineMs: Math.min(maxObserveMs, remainingMs(step.deps, step.action)),
  })

/** True where the maintenance window of the box is closed, or closes before `neededMs` are over. */
export function isWindowTooShort({ clock, rollout }: EngineTx, { window }: KnownBox, neededMs: number): boolean {
  const calendarOf = calendarsFrom(clock.now().getTime())
  return keepsWindows(rollout) && closedWindow(window, calendarOf, isoNow(clock), neededMs) !== null
}

export const noLiveBox = (slug: string) => ({
  code: 'NOT_FOUND',
  message: `${slug} has no live box any more. Resume the rollout without it`,
})
