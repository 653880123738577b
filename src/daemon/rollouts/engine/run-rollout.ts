import type { BoxCommandResult, RestoreResult, UpdateResult } from '../../../core/boxes/index.ts'
import { isProblem } from '../../../core/kit/index.ts'
import { isOver, limitsOf, planRollbackSteps, planSteps, type Step } from '../../../core/rollouts/index.ts'
import { evaluateUpdate, failUpdate } from './finish-update.ts'
import { type AwaitedCommand, type Observation, observeRollout } from './observe.ts'
import { orderUpdate } from './order-update.ts'
import { advancePhase, beginBake, pausePhase, stopBake } from './phase.ts'
import { beginUpdate, preflightUpdate } from './preflight-update.ts'
import { evaluateRollback, failRollback } from './rollback/finish-rollback.ts'
import { orderRollback } from './rollback/order-rollback.ts'
import { beginRollback, preflightRollback } from './rollback/preflight-rollback.ts'

import { markOverdue, showProgress, showRollbackWait, showWait } from './show-progress.ts'
import type { LeasedRollout } from './under-lease.ts'

/** After this many rounds the other rollouts get their time; the engine continues with this one at the next tick. */
const maxRounds = 50

/**
 * Observes the rollout, plans the steps that are possible now, and executes each in its own transaction; then observes again, until
 * nothing was executed. Answers the commands that the rollout waits for. Throws LEASE_LOST.
 */
export async function runRollout(leased: LeasedRollout, signal: AbortSignal): Promise<readonly AwaitedCommand[]> {
  for (let round = 1; ; round++) {
    const observation = await observeRollout(leased)
    const steps = stepsAfter(observation, leased)
    const executed = await executeSteps(leased, steps, signal)
    if (executed === 0 || round === maxRounds) return observation.awaited
  }
}

function stepsAfter({ rollout, bake, actions, commands }: Observation, { deps: { settings } }: LeasedRollout): Step[] {
  const limits = limitsOf(settings, rollout)
  return isOver(rollout.status) ? planRollbackSteps(actions, commands, limits) : planSteps({ rollout, bake, actions, commands }, limits)
}

/** Answers how many were executed. One that fails is logged and planned again: the trouble of one box stops no other. */
async function executeSteps(leased: LeasedRollout, steps: readonly Step[], signal: AbortSignal): Promise<number> {
  let executed = 0
  for (const step of steps) {
    if (signal.aborted) break
    try {
      await executeStep(leased, step)
      executed += 1
    } catch (error) {
      if (isProblem(error, 'LEASE_LOST')) throw error
      leased.deps.log.error({ rolloutId: leased.rolloutId, step: step.do, err: error }, 'a step of a rollout failed and is retried')
    }
  }
  return executed
}

type Observed = BoxCommandResult<'tenant-box.report_versions'>
type Pulled = BoxCommandResult<'tenant-box.prefetch'>

/**
 * Executes one planned step in one transaction. The step checks there that what it was planned on is still true, and does nothing
 * otherwise. The hosts feature has validated each result by the kind of its command.
 */
function executeStep(leased: LeasedRollout, step: Step): Promise<void> {
  switch (step.do) {
    case 'begin-update':
      return beginUpdate(leased, step.slug)
    case 'preflight-update':
      return preflightUpdate(leased, step, step.result as Observed)
    case 'order-update':
      return orderUpdate(leased, step, step.result as Pulled)
    case 'evaluate-update':
      return evaluateUpdate(leased, step, step.result as UpdateResult)
    case 'fail-update':
      return failUpdate(leased, step)
    case 'begin-rollback':
      return beginRollback(leased, step.slug)
    case 'preflight-rollback':
      return preflightRollback(leased, step, step.result as Observed)
    case 'order-rollback':
      return orderRollback(leased, step, step.result as Pulled)
    case 'evaluate-rollback':
      return evaluateRollback(leased, step, step.result as UpdateResult | RestoreResult)
    case 'fail-rollback':
      return failRollback(leased, step)
    case 'show-progress':
      return showProgress(leased, step)
    case 'show-wait':
      return showWait(leased, step)
    case 'show-rollback-wait':
      return showRollbackWait(leased, step)
    case 'mark-overdue':
      return markOverdue(leased, step)
    case 'pause':
      return pausePhase(leased, step.reason)
    case 'begin-bake':
      return beginBake(leased, step.from)
    case 'stop-bake':
      return stopBake(leased, step)
    case 'advance':
      return advancePhase(leased, step.from)
  }
}
