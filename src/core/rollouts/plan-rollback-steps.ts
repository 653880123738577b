import { explainWait } from './pause-reason.ts'
import { newestFirst } from './plan-rollback.ts'
import { type EngineAction, type EngineCommand, isInFlight, type Step, stepsFromCommand } from './plan-steps.ts'
import { assignSlots, type Parallelism } from './scheduling.ts'

// What the engine does next for a rollout that was rolled back with its boxes. Updates that were in flight end first and are undone then;
// the last that was updated goes back first. Phases play no part, nor do maintenance windows: somebody wants the boxes back now.
// One undo that failed and left its box serving keeps no other from its turn. One that left a box at rest does: an operator decides.

/** A box that came to rest on its way back, and that nobody has passed over yet. */
export const isRollbackStalled = ({ status, undo, waived }: Pick<EngineAction, 'status' | 'undo' | 'waived'>): boolean =>
  status === 'rollback_failed' && undo !== null && !waived

/** Updated, and to be brought back. */
export const awaitsRollback = ({ status, undo }: Pick<EngineAction, 'status' | 'undo'>): boolean =>
  status === 'succeeded' && undo?.status === 'pending'

/** All that can be done now; after it the engine looks again. Empty when there is nothing to do but wait. */
export function planRollbackSteps(
  actions: readonly EngineAction[],
  commands: ReadonlyMap<string, EngineCommand>,
  limits: Parallelism,
): Step[] {
  const flying = actions.filter(({ status }) => isInFlight(status))
  const steps = flying.flatMap((action) =>
    stepsFromCommand(action, action.commandId === null ? undefined : commands.get(action.commandId)).map((step) => ofUndo(action, step)),
  )
  if (steps.some((step) => step.do !== 'show') || actions.some(isRollbackStalled)) return steps
  return [...steps, ...begin(actions.filter(awaitsRollback), flying, limits)]
}

const undoStep = { examine: 'examine-undo', pin: 'order-undo', judge: 'judge-undo', fail: 'fail-undo' } as const

/** What a command of an update means is one thing, what one of its way back means another. */
function ofUndo({ undo }: EngineAction, step: Step): Step {
  if (undo?.status !== 'running') return step
  if (step.do === 'examine' || step.do === 'pin' || step.do === 'judge') return { ...step, do: undoStep[step.do] }
  return step.do === 'fail' ? { ...step, do: undoStep[step.do] } : step
}

/** A held box takes no place from the others; that it waits, and for whom, is told once. */
function begin(waiting: readonly EngineAction[], flying: readonly EngineAction[], limits: Parallelism): Step[] {
  const free = waiting.filter(({ held }) => held === null).toSorted(newestFirst)
  const begun = new Set(assignSlots(free, flying, limits).map(({ slug }) => slug))
  const told = waiting.flatMap(({ slug, held, progress }) => {
    const why = held && explainWait(held)
    return begun.has(slug) || why === waitingFor(progress) ? [] : [{ do: 'wait-undo', slug, why } as const]
  })
  return [...[...begun].map((slug) => ({ do: 'begin-undo', slug }) as const), ...told]
}

/** The last step of the update itself may still stand there. */
const waitingFor = (progress: EngineAction['progress']): string | null => (progress?.step === 'wait' ? (progress.detail ?? null) : null)
