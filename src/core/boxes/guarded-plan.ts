import type { AgentError } from './command-parts.ts'
import type { StepFacts, StepObstacle } from './step-facts.ts'

// Where an update and a restore are decided alike: what ends the way there, and what is still done for a box whose way back failed.

/** Even coming to rest ends some time, when the engine is gone for good. */
const triesToRest = 6
/** A step that is done again and again and never holds has an adversary: a script that starts the box, or removes the fence. */
const mostTries = 20

type World = Readonly<{ fence: 'absent' | 'ours' | 'other'; stopped: boolean; compose: string; deadlinePassed: boolean }>

type NextStep<Step extends string> = Readonly<{
  what: 'update' | 'restore'
  step: Step
  /** Whether the fence of another action is one to stop at. */
  stopsAtFences: boolean
  /** The step that wrote down what the compose file was. */
  noted: Step
}>

/** What forbids the next step on the way there. */
export function obstacleThere<Step extends string>(
  { what, step, stopsAtFences, noted }: NextStep<Step>,
  facts: StepFacts<Step>,
  world: World,
): StepObstacle<Step> | undefined {
  const error =
    ((facts.tries[step] ?? 0) >= mostTries && neverHolds(what, step)) ||
    (world.fence === 'other' && stopsAtFences && foreignFence) ||
    (world.deadlinePassed && tooLate(what)) ||
    (world.compose === 'other' && facts.done.has(noted) && changedByHand(what))
  return error ? { step, error, final: false } : undefined
}

const neverHolds = (what: 'update' | 'restore', step: string): AgentError => ({
  code: what === 'update' ? 'UPDATE_FAILED' : 'RESTORE_FAILED',
  message: `the step ${step} was done ${mostTries} times and does not hold: something on the host starts the box or removes its fence`,
})
const foreignFence: AgentError = {
  code: 'BOX_HELD',
  message: 'another action has fenced the box; see what is written in edge/fence/on before trying again',
}
const changedByHand = (what: string): AgentError => ({
  code: 'COMPOSE_INVALID',
  message: `the compose file was changed while the ${what} ran; check it, then try again`,
})
const tooLate = (what: string): AgentError => ({ code: 'COMMAND_EXPIRED', message: `the deadline of the ${what} passed` })

/** A box whose way back failed rests fenced and stopped until an operator decides, also one that was to have no fence: it serves nobody. */
export function standStill<Step extends string>(fence: Step, stop: Step, facts: StepFacts<Step>, world: World): readonly Step[] {
  const mayTry = (step: Step) => (facts.failures[step] ?? 0) < triesToRest && (facts.tries[step] ?? 0) < 2 * mostTries
  const wanted = [...(world.fence === 'absent' ? [fence] : []), ...(world.stopped ? [] : [stop])]
  return wanted.filter(mayTry)
}
