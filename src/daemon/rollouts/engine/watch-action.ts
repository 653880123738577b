import { alertOf } from '../../../core/alerts/index.ts'
import type { Progress } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type ActionStatus, explainOverdue, phaseOf } from '../../../core/rollouts/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { hostById } from '../../hosts/index.ts'
import { actionBySlug, replaceAction } from '../actions.repo.ts'
import { engineActor, recordRolloutAudit, tell } from '../tell.ts'
import { hold } from './begin-action.ts'
import { pauseByEngine } from './drive-phase.ts'
import { asOwner, awaiting, type Owned, type Sent } from './owned.ts'

/** What the agent says it does becomes what everybody sees. It decides nothing. */
export const showProgress = (owned: Owned, slug: string, commandId: string, status: ActionStatus, progress: Progress): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action) return undefined
    const shown = { ...action, status, progress }
    await replaceAction(tx, action, shown)
    await tell(tx, owned.deps.clock, rollout, { type: 'rollout.action', action: shown })
    return undefined
  })

type Wait = Readonly<{ why: string | null; until: string | null }>

/** A box that others hold, or whose window is closed, waits for its turn, and everybody sees for what; null when it waits no longer. */
export const showWait = (owned: Owned, slug: string, { why, until: waitsUntil }: Wait): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { clock } = owned.deps
    const action = await actionBySlug(tx, rollout.id, slug)
    if (action.status !== 'pending' || phaseOf(rollout) !== action.phase) return undefined
    const shown = { ...action, waitsUntil, progress: why === null ? null : { step: 'wait', detail: why, at: isoNow(clock) } }
    await replaceAction(tx, action, shown)
    await tell(tx, clock, rollout, { type: 'rollout.action', action: shown })
    return undefined
  })

/**
 * Nothing is heard of an update that an agent took. Only the agent knows how it ends, so the action stays as it is, the box stays held,
 * and the rollout pauses for a person to look.
 */
export const recordOverdue = (owned: Owned, slug: string, commandId: string): Promise<Sent> =>
  asOwner(owned, async (tx, rollout) => {
    const { deps } = owned
    const action = await awaiting(tx, rollout.id, slug, commandId)
    if (!action || action.overdueAt !== null) return undefined
    const overdue = { ...action, overdueAt: isoNow(deps.clock) }
    await replaceAction(tx, action, overdue)
    await hold(tx, deps, rollout, action) // unless somebody else has it by now: that it is overdue is told all the same
    await tell(tx, deps.clock, rollout, { type: 'rollout.action', action: overdue })
    const { name: host } = await hostById(tx, action.hostId)
    const { attempt, hostId } = action
    await raiseAlert(tx, deps.clock, alertOf.deadline_overdue({ rolloutId: rollout.id, slug, attempt, host }))
    await recordRolloutAudit(tx, deps.clock, rollout, {
      actor: engineActor,
      action: 'rollout.action.overdue',
      data: { slug, attempt, hostId },
    })
    if (phaseOf(rollout)) await pauseByEngine(tx, deps, rollout, explainOverdue(slug, host))
    return undefined
  })
