import type { AgentError, UpdateOutcome, UpdateStep } from './command-parts.ts'
import type { BoxCommandPayload } from './commands.ts'
import { obstacleThere, standStill } from './guarded-plan.ts'
import { foldSteps, type StepEvent, type StepFacts, type StepObstacle } from './step-facts.ts'

// The guarded update, decided: what is next, given what was written down and what is seen.
// Invariants: nothing is recreated before its snapshot is complete; nothing is restored after the commit, nor once users may have been on the
// new version; the fence is lifted only after a commit, after a good probe where the mode says so, after a failure that touched nothing, or
// after a restore that proved healthy; and it is left behind only where the way back failed.

export type UpdateEvent = StepEvent<UpdateStep>
export type UpdateFacts = StepFacts<UpdateStep> &
  Readonly<{
    /** Users may be on the new version, though it is not proven yet: written down before the fence is lifted, or the chat server started. */
    opened: boolean
  }>
export type Obstacle = StepObstacle<UpdateStep>

/** What is seen on the host, read anew before every step. */
export type UpdateWorld = Readonly<{
  /** As the update was ordered; it never changes. */
  mode: BoxCommandPayload<'tenant-box.update'>['fence']['mode']
  fence: 'absent' | 'ours' | 'other'
  /** Synapse and MinIO are stopped: nothing writes. */
  quiet: boolean
  /** PostgreSQL is stopped as well. */
  stopped: boolean
  /** Synapse runs. */
  serving: boolean
  compose: 'former' | 'target' | 'other'
  deadlinePassed: boolean
}>

const untilSnapshot = ['stop', 'snapshot', 'cold-copy', 'rewrite', 'recreate'] as const

/** The way there, by mode. Without a fence the chat server is not recreated with the rest: its start is what opens the box. */
const ways: Readonly<Record<UpdateWorld['mode'], readonly UpdateStep[]>> = {
  'until-stable': ['prefetch', 'fence', ...untilSnapshot, 'probe', 'commit', 'unfence'],
  'until-first-ok': ['prefetch', 'fence', ...untilSnapshot, 'first-ok', 'unfence', 'probe', 'commit'],
  none: ['prefetch', ...untilSnapshot, 'serve', 'probe', 'commit'],
}
const there: readonly UpdateStep[] = ['prefetch', 'fence', ...untilSnapshot, 'serve', 'first-ok', 'probe', 'commit']
const back: readonly UpdateStep[] = ['restore-stop', 'restore-data', 'restore-start', 'restore-probe']
const order = [...there, ...back, 'unfence'] as const

/** A restore is worth trying again: an engine that restarts must not leave a box down. The probe had its own patience. */
const triesBack = (step: UpdateStep): number => (step === 'restore-probe' ? 1 : 3)
/** Lifting the fence is never what turns an update round: it is tried until it holds. */
export const foldUpdate = (events: readonly UpdateEvent[]): UpdateFacts => ({
  ...foldSteps(events, { back, triesBack, takenBack, harmless: ['unfence'] }),
  opened: isOpened(events),
})

function isOpened(events: readonly UpdateEvent[]): boolean {
  let wasGood = false
  for (const { step, mark } of events) {
    if (mark === 'failed' && step !== 'unfence') return false
    if (step === 'first-ok' && mark === 'done') wasGood = true
    if (mark === 'intent' && (step === 'serve' || (step === 'unfence' && wasGood))) return true
  }
  return false
}

// Before anything is touched a step begun anew makes worthless what followed it; a commit and a snapshot that was used stay what they are.
function takenBack(step: UpdateStep, begun: ReadonlySet<UpdateStep>): readonly UpdateStep[] {
  if (there.includes(step) && begun.has('recreate')) return step === 'commit' ? [] : [step]
  return order.slice(order.indexOf(step)).filter((later) => later !== 'commit')
}

const isCommitted = (facts: UpdateFacts): boolean => facts.done.has('commit')

/** From here on containers or data may be other than before, and only a restore leads back. */
export const isTouched = (facts: UpdateFacts): boolean => facts.begun.has('recreate')

/** It ended with users on the new version: what they write would be lost by going back, so a person decides. */
export const isLeftOpen = (facts: UpdateFacts): boolean => facts.opened && facts.failure !== null && !isCommitted(facts)

const liftedByOthers: AgentError = {
  code: 'RESTORE_FAILED',
  message: 'the fence was taken off before the update was decided, so a restore could lose messages; an operator must decide',
}

const servedByOthers: AgentError = {
  code: 'RESTORE_FAILED',
  message: 'the chat server was started before the update was decided, so a restore could lose messages; an operator must decide',
}

/** What forbids to go on, seen before the step that would do harm. */
export function obstacleTo(facts: UpdateFacts, world: UpdateWorld): Obstacle | undefined {
  if (isCommitted(facts) || facts.givenUp || isLeftOpen(facts)) return undefined
  if (facts.failure) return noSafeWayBack(facts, world)
  const next = forward(facts, world)[0] ?? 'commit'
  if (next === 'unfence' && facts.opened) return undefined
  // While it is still fenced all can be taken back, as if the good probe had not been.
  const step = next === 'unfence' ? 'first-ok' : next
  return obstacleThere({ what: 'update', step, stopsAtFences: !facts.opened, noted: 'prefetch' }, facts, world)
}

// What may have been written since the snapshot would be lost: then nothing automatic restores.
function noSafeWayBack(facts: UpdateFacts, world: UpdateWorld): Obstacle | undefined {
  if (!isTouched(facts) || facts.done.has('restore-probe')) return undefined
  if (world.mode !== 'none') return world.fence === 'ours' ? undefined : { step: 'restore-stop', error: liftedByOthers, final: true }
  // Without a fence, quiet is all that kept people from writing; after the data were brought back nothing is lost any more.
  const dataAhead = !facts.done.has('restore-data')
  return dataAhead && world.serving ? { step: 'restore-stop', error: servedByOthers, final: true } : undefined
}

/** The steps that are left, in order; the first is to be done next, then look again. Empty when it is over. */
export function planUpdate(facts: UpdateFacts, world: UpdateWorld): readonly UpdateStep[] {
  if (isCommitted(facts) || isLeftOpen(facts)) return unfence(world)
  if (facts.givenUp) return standStill('fence', 'restore-stop', facts, world)
  if (facts.failure) return [...wayBack(facts).filter((step) => !facts.done.has(step)), ...unfence(world)]
  return forward(facts, world)
}

const unfence = (world: UpdateWorld): readonly UpdateStep[] => (world.fence === 'ours' ? ['unfence'] : [])

function forward(facts: UpdateFacts, world: UpdateWorld): readonly UpdateStep[] {
  const way = ways[world.mode]
  const next = way.findIndex((step) => !(isPast(step, facts) || (facts.done.has(step) && stillHolds(step, facts, world))))
  return next < 0 ? [] : way.slice(next)
}

// A journal of an older agent knows no cold copy, and after the rewrite there is nothing cold any more.
const isPast = (step: UpdateStep, facts: UpdateFacts): boolean => step === 'cold-copy' && facts.begun.has('rewrite')

// What runs again behind our back may have written after the dump: stop it, and take the snapshot anew.
function stillHolds(step: UpdateStep, facts: UpdateFacts, world: UpdateWorld): boolean {
  if (isTouched(facts)) return step !== 'unfence' || world.fence !== 'ours'
  if (step === 'fence') return world.fence === 'ours'
  if (step === 'stop') return world.quiet
  return true
}

function wayBack(facts: UpdateFacts): readonly UpdateStep[] {
  if (isTouched(facts)) return back
  return facts.begun.has('stop') ? ['restore-start', 'restore-probe'] : []
}

/** How it ended, once no step is left. */
export function outcomeOf(facts: UpdateFacts): UpdateOutcome {
  if (isCommitted(facts)) return 'committed'
  if (isLeftOpen(facts)) return 'failed'
  if (facts.givenUp) return 'rollback_failed'
  return isTouched(facts) ? 'rolled_back' : 'failed'
}
