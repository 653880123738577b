import { type EndStep, foldSaga, isCommitted, type Saga, type SagaEntry, type SagaError, type SagaFacts } from './saga.ts'

/** Milliseconds since the saga began; the deadline applies to forward steps only. */
type SagaTime = Readonly<{ elapsedMs: number; deadlineMs: number | null }>

/** `unfinished`: committed, but a finish step was abandoned. `abandoned`: neither committed nor fully compensated. */
export type SagaOutcome = 'committed' | 'unfinished' | 'rolled_back' | 'abandoned'

export type SagaNext<Step extends string> =
  | Readonly<{ do: Step }>
  | Readonly<{ compensate: Step }>
  /** To be recorded as the failure of a step without running it. */
  | Readonly<{ fail: Step; error: SagaError; final: boolean }>
  /** Nothing is due before this many elapsed milliseconds. */
  | Readonly<{ wait: number }>
  | Readonly<{ done: SagaOutcome }>

/** A forward step that is begun this often never holds: something reverts it. */
const maxForwardTries = 20

/** Decides what to do now; the caller does it, writes the outcome to the journal and asks again. */
export function nextStep<Step extends string, World>(
  saga: Saga<Step, World>,
  journal: readonly SagaEntry[],
  { world, time }: Readonly<{ world: World; time: SagaTime }>,
): SagaNext<Step> {
  const facts = foldSaga(saga, journal)
  const at = { facts, world, time }
  if (isCommitted(saga, facts)) return finish(saga, at)
  if (facts.abandoned) return quarantine(saga, at)
  return facts.failure ? compensate(saga, at) : forward(saga, at)
}

type At<Step extends string, World> = Readonly<{ facts: SagaFacts<Step>; world: World; time: SagaTime }>

function forward<Step extends string, World>(saga: Saga<Step, World>, at: At<Step, World>): SagaNext<Step> {
  const { facts, world } = at
  const step = saga.steps.find(({ name, holds, isPast }) => !(isPast?.(facts) || (facts.done.has(name) && (holds?.(facts, world) ?? true))))
  if (!step) return { done: 'committed' }
  const refusedAs = step.refusedAs ? step.refusedAs(facts) : step.name
  const error = refusedAs === null ? undefined : refusal(saga, at, refusedAs)
  if (refusedAs !== null && error) return { fail: refusedAs, error, final: false }
  return step.isRetried ? (pauseBefore(step.name, at) ?? { do: step.name }) : { do: step.name }
}

function refusal<Step extends string, World>(
  saga: Saga<Step, World>,
  { facts, world, time: { elapsedMs, deadlineMs } }: At<Step, World>,
  step: Step,
): SagaError | undefined {
  if ((facts.tries[step] ?? 0) >= maxForwardTries) return neverHolds(saga, step)
  const refused = saga.guard?.(facts, world)
  if (refused) return refused
  return deadlineMs !== null && elapsedMs > deadlineMs
    ? { code: 'COMMAND_EXPIRED', message: `the deadline of the ${saga.name} passed before the step ${step}` }
    : undefined
}

const neverHolds = <Step extends string, World>({ codes }: Saga<Step, World>, step: Step): SagaError => ({
  code: codes?.neverHolds ?? 'CONFLICT',
  message: `the step ${step} ran ${maxForwardTries} times without lasting effect: something on the host starts the box or removes its fence`,
})

// A finish or compensation step that is abandoned blocks those after it: a box that did not start is not opened.
function finish<Step extends string, World>({ finish }: Saga<Step, World>, at: At<Step, World>): SagaNext<Step> {
  const step = finish.find((one) => isPending(one, at))
  if (!step) return { done: 'committed' }
  return isExhausted(step, at.facts) ? { done: 'unfinished' } : (pauseBefore(step.name, at) ?? { do: step.name })
}

function compensate<Step extends string, World>(saga: Saga<Step, World>, at: At<Step, World>): SagaNext<Step> {
  const refused = saga.compensationGuard?.(at.facts, at.world)
  if (refused) return { fail: refused.step, error: refused.error, final: true }
  const step = saga.compensation.find((one) => isPending(one, at))
  return step ? (pauseBefore(step.name, at) ?? { compensate: step.name }) : { done: 'rolled_back' }
}

function quarantine<Step extends string, World>({ quarantine = [] }: Saga<Step, World>, at: At<Step, World>): SagaNext<Step> {
  const step = quarantine.find((one) => isPending(one, at) && !isExhausted(one, at.facts))
  return step ? (pauseBefore(step.name, at) ?? { compensate: step.name }) : { done: 'abandoned' }
}

const isPending = <Step extends string, World>(
  { name, when, isComplete }: EndStep<Step, World>,
  { facts, world }: At<Step, World>,
): boolean => (when?.(facts, world) ?? true) && !(isComplete ? isComplete(world) : facts.done.has(name))

/** Whether an end step used up its tries. */
const isExhausted = <Step extends string>(
  { name, maxTries = Infinity, maxFailures = Infinity }: Pick<EndStep<Step, never>, 'name' | 'maxTries' | 'maxFailures'>,
  { tries, failures }: Pick<SagaFacts<Step>, 'tries' | 'failures'>,
): boolean => (tries[name] ?? 0) >= maxTries || (failures[name] ?? 0) >= maxFailures

const firstPauseMs = 1_000
const maxPauseMs = 60_000

function pauseBefore<Step extends string, World>(step: Step, { facts, time }: At<Step, World>): { wait: number } | undefined {
  const failedAtMs = facts.failedAtMs[step]
  if (failedAtMs === undefined) return undefined
  const until = failedAtMs + Math.min(firstPauseMs * 4 ** ((facts.failures[step] ?? 1) - 1), maxPauseMs)
  return time.elapsedMs < until ? { wait: until } : undefined
}
