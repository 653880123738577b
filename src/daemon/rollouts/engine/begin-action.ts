import type { BoxId } from '../../../core/boxes/index.ts'
import { isoIn, isoNow, isProblem } from '../../../core/kit/index.ts'
import { type ActionError, calendarsFrom, closedWindow, phaseOf, updateNeedsMs } from '../../../core/rollouts/index.ts'
import { holdBox } from '../../boxes/index.ts'
import type { Tx } from '../../db/index.ts'
import { actionBySlug, replaceAction, type StoredAction } from '../actions.repo.ts'
import { insertAttempt } from '../attempts.repo.ts'
import type { RolloutsDeps } from '../deps.ts'
import { untried } from '../queue-rollout.ts'
import type { StoredRollout } from '../rollouts.repo.ts'
import { engineActor, recordRolloutAudit, streamOf, tell } from '../tell.ts'
import { type BoxInTurn, boxInTurn } from './box-asked.repo.ts'
import { keepsWindows } from './closed-windows.repo.ts'
import { asOwner, leftMs, type Owned, type Sent, send } from './owned.ts'
import { settle } from './settle.ts'
import { keptForEnd } from './written-at-end.ts'

/** A host that is asked what runs on it and says nothing for this long is not worth a place in the queue. */
export const observeMs = 10 * 60_000

/** The hold outlives the deadline: an update may be under way until its agent says otherwise. */
const holdForMs = ({ settings }: RolloutsDeps): number => settings.actionDeadlineMs + 24 * 60 * 60_000

/**
 * The turn of a box: it is held, and its agent asked what runs now. Nothing happens when the rollout left the phase meanwhile, or when
 * somebody else was faster to hold the box, or when its tenant may not be disturbed any more: then it waits.
 */
export const beginAction = (owned: Owned, slug: string): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await actionBySlug(tx, rollout.id, slug)
    if (action.status !== 'pending' || phaseOf(rollout) !== action.phase) return undefined
    const box = await boxInTurn(deps, tx, slug)
    if (box && isClosed(deps, rollout, box, updateNeedsMs(action))) return undefined
    if (box && !(await hold(tx, deps, rollout, box))) return undefined
    const begun = await openAttempt(tx, deps, rollout, action, box)
    if (!box) {
      await replaceAction(tx, action, begun)
      return settle(tx, deps, rollout, begun, { status: 'failed', error: gone(slug) })
    }
    const payload = { slug, boxId: box.boxId, ownershipEpoch: box.ownershipEpoch }
    const deadlineMs = Math.min(observeMs, leftMs(deps, begun))
    const sent = await send(tx, deps, begun, { step: 'observe', kind: 'tenant-box.report_versions', payload, deadlineMs })
    await replaceAction(tx, action, sent)
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: sent })
    const data = { slug, attempt: sent.attempt, hostId: sent.hostId }
    await recordRolloutAudit(tx, deps.clock, rollout, { actor: engineActor, action: 'rollout.action.begun', data })
    return sent
  })

async function openAttempt(
  tx: Tx,
  { clock }: RolloutsDeps,
  rollout: StoredRollout,
  action: StoredAction,
  box: BoxInTurn | undefined,
): Promise<StoredAction> {
  const at = isoNow(clock)
  const where = box ? { boxId: box.boxId, hostId: box.hostId } : {}
  const begun: StoredAction = { ...action, ...untried, ...where, status: 'preflight', attempt: action.attempt + 1, startedAt: at }
  const opened = { actionId: action.id, attempt: begun.attempt, rolloutId: rollout.id, at }
  const kept = box && keptForEnd(tx) // without its box it is closed at once
  if (!kept?.attempts.push(opened)) await insertAttempt(tx, opened)
  return begun
}

/** Whether too little is left of its maintenance window, as it is now. */
export function isClosed({ clock }: RolloutsDeps, rollout: StoredRollout, { window }: BoxInTurn, neededMs: number): boolean {
  const calendarOf = calendarsFrom(clock.now().getTime())
  return keepsWindows(rollout) && closedWindow(window, calendarOf, isoNow(clock), neededMs) !== null
}

/** False where somebody else has it. Of several together it shows at their end. */
export async function hold(tx: Tx, deps: RolloutsDeps, rollout: StoredRollout, box: Pick<BoxInTurn, 'boxId'>): Promise<boolean> {
  const wanted = { boxId: box.boxId as BoxId, holder: streamOf(rollout.id), until: isoIn(deps.clock, holdForMs(deps)) }
  if (keptForEnd(tx)?.held.push(wanted)) return true
  try {
    await holdBox(tx, deps.clock, wanted)
    return true
  } catch (error) {
    if (!isProblem(error, 'BOX_HELD')) throw error
    return false
  }
}

/**
 * Holds a box again that was looked at before; what to say where it is the rollout's no more. A person may have released its hold, or it ran out
 * while no daemon ran: nothing is stopped in a box that others act on by now. Nor in one that nobody has: an emergency may have had it between,
 * and brought it further than it was.
 */
export async function holdStill(
  tx: Tx,
  deps: RolloutsDeps,
  rollout: StoredRollout,
  slug: string,
  box: Pick<BoxInTurn, 'boxId' | 'heldBy'>,
): Promise<ActionError | undefined> {
  if (box.heldBy === null)
    return lost(`the hold of ${slug} was released after it had been looked at, and others may have acted on it since`)
  if (box.heldBy === streamOf(rollout.id) && (await hold(tx, deps, rollout, box))) return undefined
  return lost(`somebody else has taken the box ${slug} meanwhile`)
}

const lost = (what: string): ActionError => ({ code: 'BOX_HELD', message: `${what}; nothing was stopped: try again once it is free` })

const gone = (slug: string): ActionError => ({ code: 'NOT_FOUND', message: `${slug} has no live box any more: leave it out` })
