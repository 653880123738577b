import { isProblem } from '../../../core/kit/index.ts'
import { planRollbackSteps, planSteps, type Step } from '../../../core/rollouts/index.ts'
import { executeStep } from './execute-step.ts'
import { type AwaitedCommand, type Observation, observeRollout } from './observe.ts'
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

function stepsAfter({ rollout, actions, commands }: Observation, { deps: { settings } }: LeasedRollout): Step[] {
  return rollout.status === 'rolled_back'
    ? planRollbackSteps(actions, commands, settings)
    : planSteps({ rollout, actions, commands }, settings)
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
