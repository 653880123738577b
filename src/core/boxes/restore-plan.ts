import type { AgentError, RestoreOutcome } from './command-parts.ts'
import { obstacleThere, standStill } from './guarded-plan.ts'
import { foldSteps, type StepEvent, type StepFacts, type StepObstacle } from './step-facts.ts'

// The restore of a box on its own host, decided: what is next, given what was written down and what is seen.
// Invariants: nothing is switched before the snapshot of what is there now is complete; the former volumes and files stay until the
// commit, so that a restore can be taken back; after the commit nothing goes back; the fence is lifted only after a commit, after a
// failure that touched nothing, or after a way back that proved healthy; once the box served restored data without our fence, nothing
// automatic goes back.

/** The steps of a restore in their order; the four `back-` ones only on the way back. */
export type RestoreStep =
  | 'fetch'
  | 'fence'
  | 'stop'
  | 'keep'
  | 'load'
  | 'switch'
  | 'start'
  | 'probe'
  | 'commit'
  | 'back-stop'
  | 'back-switch'
  | 'back-start'
  | 'back-probe'
  | 'unfence'

export type RestoreEvent = StepEvent<RestoreStep>
export type RestoreFacts = StepFacts<RestoreStep>

/** What is seen on the host, read anew before every step. */
export type RestoreWorld = Readonly<{
  fence: 'absent' | 'ours' | 'other'
  /** The fence is of a change that ended with the box at rest, or it was when this restore began: there is no healthy state to go back to. */
  rested: boolean
  /** Synapse and MinIO are stopped: nothing writes. */
  quiet: boolean
  /** PostgreSQL is stopped as well. */
  stopped: boolean
  compose: 'former' | 'restored' | 'other'
  deadlinePassed: boolean
}>

const there = ['fetch', 'fence', 'stop', 'keep', 'load', 'switch', 'start', 'probe', 'commit'] as const satisfies readonly RestoreStep[]
const back = ['back-stop', 'back-switch', 'back-start', 'back-probe'] as const satisfies readonly RestoreStep[]
const order: readonly RestoreStep[] = [...there, ...back, 'unfence']
/** All of them, the way there first. */
export const restoreSteps = order

/** An engine that restarts must not leave a box down. The probe had its own patience. */
const triesBack = (step: RestoreStep): number => (step === 'back-probe' ? 1 : 3)

export const foldRestore = (events: readonly RestoreEvent[]): RestoreFacts => foldSteps(events, { back, triesBack, takenBack })

// Until the box may have served, what follows a step that is done anew was made of what was before it. A commit stays what it is.
function takenBack(step: RestoreStep, begun: ReadonlySet<RestoreStep>): readonly RestoreStep[] {
  const taken = begun.has('start') || back.some((one) => one === step) ? [step] : order.slice(order.indexOf(step))
  return taken.filter((one) => one !== 'commit')
}

const isCommitted = (facts: RestoreFacts): boolean => facts.done.has('commit')

/** From here on the box may serve restored data. */
const isStarted = (facts: RestoreFacts): boolean => facts.begun.has('start')

/** Something of the box was stopped or exchanged, so that the way back has something to do. */
const isRestoreUnderWay = (facts: RestoreFacts): boolean => facts.begun.has('stop')

const liftedByOthers: AgentError = {
  code: 'RESTORE_FAILED',
  message: 'the fence was taken off before the restore was decided, so going back could lose messages; an operator must decide',
}
const nowhereToGo: AgentError = {
  code: 'RESTORE_FAILED',
  message: 'the box was at rest before, so there is nothing healthy to go back to; it rests again',
}

/** What forbids to go on, seen before the step that would do harm. */
export function restoreObstacle(facts: RestoreFacts, world: RestoreWorld): StepObstacle<RestoreStep> | undefined {
  if (isCommitted(facts) || facts.givenUp) return undefined
  if (facts.failure) return noWayBack(facts, world)
  const step = forward(facts, world)[0] ?? 'commit'
  return obstacleThere({ what: 'restore', step, stopsAtFences: !world.rested, noted: 'fetch' }, facts, world)
}

function noWayBack(facts: RestoreFacts, world: RestoreWorld): StepObstacle<RestoreStep> | undefined {
  if (!facts.begun.has('fence') || facts.done.has('back-probe')) return undefined
  if (world.rested) return { step: 'back-stop', error: nowhereToGo, final: true }
  const mayHaveServed = isStarted(facts) && !facts.done.has('back-switch')
  return mayHaveServed && world.fence !== 'ours' ? { step: 'back-stop', error: liftedByOthers, final: true } : undefined
}

/** The steps that are left, in order; the first is to be done next, then look again. Empty when it is over. */
export function planRestore(facts: RestoreFacts, world: RestoreWorld): readonly RestoreStep[] {
  if (isCommitted(facts)) return unfence(world)
  if (facts.givenUp) return standStill('fence', 'back-stop', facts, world)
  if (!facts.failure) return forward(facts, world)
  const wayBack = isRestoreUnderWay(facts) ? back.filter((step) => !facts.done.has(step)) : []
  return [...wayBack, ...unfence(world)]
}

const unfence = (world: RestoreWorld): readonly RestoreStep[] => (world.fence === 'ours' ? ['unfence'] : [])

function forward(facts: RestoreFacts, world: RestoreWorld): readonly RestoreStep[] {
  const next = there.findIndex((step) => !(facts.done.has(step) && stillHolds(step, facts, world)))
  return [...there.slice(next), 'unfence']
}

// What runs again behind our back may have written after the snapshot of it: stop it, and keep it anew.
function stillHolds(step: RestoreStep, facts: RestoreFacts, world: RestoreWorld): boolean {
  if (isStarted(facts)) return true
  if (step === 'fence') return world.fence === 'ours'
  if (step === 'stop') return world.quiet
  return true
}

/** How it ended, once no step is left. */
export function restoreOutcome(facts: RestoreFacts): RestoreOutcome {
  if (isCommitted(facts)) return 'restored'
  return facts.givenUp ? 'restore_failed' : 'failed'
}
