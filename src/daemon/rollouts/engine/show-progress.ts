import type { Progress } from '../../../core/boxes/index.ts'
import { isoNow } from '../../../core/kit/index.ts'
import { type ActionStatus, awaitsRollback, explainOverdue, phaseOf } from '../../../core/rollouts/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { hostById } from '../../hosts/index.ts'
import { updateOverdue } from '../alerts.ts'
import { engineActor, recordRolloutAudit, updateAction } from '../publish.ts'
import { pauseByEngine } from './phase.ts'
import { type CommandOf, holdForRollout, type LeasedRollout, onAction, onCommand } from './under-lease.ts'

/** Shows the step that the agent reported. Progress steps never make another step due. */
export const showProgress = (
  leased: LeasedRollout,
  { status, progress, ...command }: CommandOf & Readonly<{ status: ActionStatus; progress: Progress }>,
): Promise<void> =>
  onCommand(leased, command, async (step) => {
    await updateAction(step, step.action, { ...step.action, status, progress })
    return undefined
  })

type Wait = Readonly<{ slug: string; why: string | null }>

/** Shows why a pending box waits, for an owner or its window, and until when; `why` is null once it waits no longer. */
export const showWait = (leased: LeasedRollout, { slug, why, until }: Wait & Readonly<{ until: string | null }>): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { clock, rollout, action } = step
    if (action.status !== 'pending' || phaseOf(rollout) !== action.phase) return undefined
    await updateAction(step, action, { ...action, waitsUntil: until, progress: waitProgress(why, isoNow(clock)) })
    return undefined
  })

/** The same for a box that waits for its rollback. */
export const showRollbackWait = (leased: LeasedRollout, { slug, why }: Wait): Promise<void> =>
  onAction(leased, slug, async (step) => {
    const { clock, action } = step
    if (!awaitsRollback(action)) return undefined
    await updateAction(step, action, { ...action, progress: waitProgress(why, isoNow(clock)) })
    return undefined
  })

const waitProgress = (why: string | null, at: string): Progress | null => (why === null ? null : { step: 'wait', detail: why, at })

/**
 * An agent took an update and has not reported in time. Only the agent knows how it ends: the action stays as it is, the box stays on
 * hold, and the rollout pauses until an operator decides.
 */
export const markOverdue = (leased: LeasedRollout, command: CommandOf): Promise<void> =>
  onCommand(leased, command, async (step) => {
    const { tx, clock, rollout, action } = step
    if (action.overdueAt !== null) return undefined
    await updateAction(step, action, { ...action, overdueAt: isoNow(clock) })
    await holdForRollout(step, action.boxId) // where another owner holds it by now, the update is overdue all the same
    const { name: host } = await hostById(tx, action.hostId)
    const { tenantSlug: slug, attempt, hostId } = action
    await raiseAlert(tx, clock, updateOverdue({ rolloutId: rollout.id, slug, attempt, host }))
    await recordRolloutAudit(step, { actor: engineActor, action: 'rollout.action.overdue', data: { slug, attempt, hostId } })
    if (phaseOf(rollout)) await pauseByEngine(step, explainOverdue(slug, host))
    return undefined
  })
