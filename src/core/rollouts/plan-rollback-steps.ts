import { explainWait } from './pause-reason.ts'
import { newestFirst } from './plan-rollback.ts'
import { type EngineAction, type EngineCommand, isInFlight, type Step, stepsFromCommand } from './plan-steps.ts'
import { assignSlots, type Parallelism } from './scheduling.ts'

// The next steps of a rollout that was rolled back with its boxes. Updates in flight end first and are rolled back then; the box that was
// updated last is rolled back first. Phases and maintenance windows do not count: an operator wants the boxes back now. A rollback that
// failed and left its box serving stops no other. One that left its box stopped stalls all others until an operator decides.

/** True for a box that its rollback left stopped and that no operator has skipped. */
export const isRollbackStalled = ({ status, rollback, waived }: Pick<EngineAction, 'status' | 'rollback' | 'waived'>): boolean =>
  status === 'rollback_failed' && rollback !== null && !waived

/** True for an updated box that waits for its rollback. */
export const awaitsRollback = ({ status, rollback }: Pick<EngineAction, 'status' | 'rollback'>): boolean =>
  status === 'succeeded' && rollback?.status === 'pending'

/** Every step that is possible now; empty when there is nothing to do but wait. */
export function planRollbackSteps(
  actions: readonly EngineAction[],
  commands: ReadonlyMap<string, EngineCommand>,
  limits: Parallelism,
): Step[] {
  const flying = actions.filter(({ status }) => isInFlight(status))
  const steps = flying.flatMap((action) =>
    stepsFromCommand(action, action.commandId === null ? undefined : commands.get(action.commandId)).map((step) =>
      action.rollback?.status === 'running' ? rollbackStep(step) : step,
    ),
  )
  if (steps.some((step) => step.do !== 'show-progress') || actions.some(isRollbackStalled)) return steps
  return [...steps, ...beginSteps(actions.filter(awaitsRollback), flying, limits)]
}

/** The commands of a rollback are those of an update; their results mean something else. */
function rollbackStep(step: Step): Step {
  switch (step.do) {
    case 'preflight-update':
      return { ...step, do: 'preflight-rollback' }
    case 'order-update':
      return { ...step, do: 'order-rollback' }
    case 'evaluate-update':
      return { ...step, do: 'evaluate-rollback' }
    case 'fail-update':
      return { ...step, do: 'fail-rollback' }
    default:
      return step
  }
}

/** A held box takes no slot. Its reason is shown once. */
function beginSteps(waiting: readonly EngineAction[], flying: readonly EngineAction[], limits: Parallelism): Step[] {
  const free = waiting.filter(({ held }) => held === null).toSorted(newestFirst)
  const begun = assignSlots(free, flying, limits).map(({ slug }) => slug)
  const waits = waiting.flatMap(({ slug, held, progress }) => {
    const why = held && explainWait(held)
    return begun.includes(slug) || why === shownWait(progress) ? [] : [{ do: 'show-rollback-wait', slug, why } as const]
  })
  return [...begun.map((slug) => ({ do: 'begin-rollback', slug }) as const), ...waits]
}

/** Other progress is the last step of the update. */
const shownWait = (progress: EngineAction['progress']): string | null => (progress?.step === 'wait' ? (progress.detail ?? null) : null)
