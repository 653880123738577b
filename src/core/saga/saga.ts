/** A failure as a journal stores it. */
export type SagaError = Readonly<{ code: string; message: string; retryable?: false }>

/** One line of a saga's journal. `data` of `done` is what the step returned, of `failed` it is `{ error, final? }`. */
export type SagaEntry = Readonly<{
  step: string
  mark: 'intent' | 'done' | 'failed' | 'note'
  /** Milliseconds since the saga began, over all restarts. */
  elapsedMs: number
  data?: unknown
}>

export type ForwardStep<Step extends string, World> = Readonly<{
  name: Step
  /** Whether the effect of the done step still exists; if not, the step runs again. */
  holds?(facts: SagaFacts<Step>, world: World): boolean
  /** True for a step that is not needed any more, done or not. */
  isPast?(facts: SagaFacts<Step>): boolean
  /** A failure of this step is retried and never fails the saga; it has no deadline. */
  isRetried?: boolean
  /** The step that a refusal is recorded for, if not this one; null where nothing may refuse this step any more. */
  refusedAs?(facts: SagaFacts<Step>): Step | null
}>

export type EndStep<Step extends string, World> = Readonly<{
  name: Step
  /** Whether the step is needed; default: always. */
  when?(facts: SagaFacts<Step>, world: World): boolean
  /** Whether its effect exists; default: once the journal says that it is done. */
  isComplete?(world: World): boolean
  /** Begun this often without an outcome, it is abandoned. */
  maxTries?: number
  /** Failed this often, it is abandoned. */
  maxFailures?: number
}>

export type Saga<Step extends string, World> = Readonly<{
  /** As messages name it: `update`. */
  name: string
  /** In order; the last one commits. A step with two places is done once it is done at one of them. */
  steps: readonly ForwardStep<Step, World>[]
  /** After the commit; a failure of these never changes the outcome. */
  finish: readonly EndStep<Step, World>[]
  /** After a failure, in this order. */
  compensation: readonly EndStep<Step, World>[]
  /** After the compensation was abandoned: makes safe what is left for a person to decide. */
  quarantine?: readonly EndStep<Step, World>[]
  /** Refuses the next forward step. */
  guard?(facts: SagaFacts<Step>, world: World): SagaError | undefined
  /** Abandons the compensation before it does harm; recorded as the failure of `step`. */
  compensationGuard?(facts: SagaFacts<Step>, world: World): Readonly<{ step: Step; error: SagaError }> | undefined
  /** Once this step was begun, repeating a forward step keeps the results of later ones. */
  fixedFrom?: Step
  /** From the first begin of one of these on, the runner waits for what does not answer; absent: from the beginning. */
  mustFinishFrom?: readonly Step[]
  /** Error codes for a step that is never observed as done, and for an end step that times out. Default: CONFLICT, INTERNAL. */
  codes?: Readonly<{ neverHolds: string; timedOut: string }>
}>

/** Facts folded from the journal. */
export type SagaFacts<Step extends string> = Readonly<{
  entries: readonly SagaEntry[]
  begun: ReadonlySet<Step>
  done: ReadonlySet<Step>
  /** How often each step was begun, and how often it failed. */
  tries: Readonly<Partial<Record<Step, number>>>
  failures: Readonly<Partial<Record<Step, number>>>
  /** When a step that was begun failed last, unless it was done since. */
  failedAtMs: Readonly<Partial<Record<Step, number>>>
  /** The first failure of a forward step. */
  failure: SagaError | null
  /** The failure that abandoned the compensation; before that the last failure of any end step. */
  endError: SagaError | null
  abandoned: boolean
}>

type Counts<Step extends string> = Pick<SagaFacts<Step>, 'tries' | 'failures' | 'done'>

const isForward = <Step extends string>({ steps }: Pick<Saga<Step, never>, 'steps'>, step: Step): boolean =>
  steps.some(({ name }) => name === step)

/** Folds a journal into facts. Notes and steps that the saga does not know change nothing but the counts. */
export function foldSaga<Step extends string>(saga: Saga<Step, never>, entries: readonly SagaEntry[]): SagaFacts<Step> {
  const begun = new Set<Step>()
  const done = new Set<Step>()
  const tries: Partial<Record<Step, number>> = {}
  const failures: Partial<Record<Step, number>> = {}
  const failedAtMs: Partial<Record<Step, number>> = {}
  const running = new Set<Step>()
  let failure: SagaError | null = null
  let endError: SagaError | null = null
  let abandoned = false
  for (const { step: name, mark, elapsedMs, data } of entries) {
    const step = name as Step
    if (mark === 'intent') {
      begun.add(step)
      running.add(step)
      tries[step] = (tries[step] ?? 0) + 1
      for (const repeated of discardedBy(saga, step, begun)) done.delete(repeated)
    }
    if (mark === 'done') {
      done.add(step)
      running.delete(step)
      delete failedAtMs[step]
    }
    if (mark !== 'failed') continue
    const { error = null, final = false } = (data ?? {}) as { error?: SagaError; final?: boolean }
    failures[step] = (failures[step] ?? 0) + 1
    if (running.delete(step)) failedAtMs[step] = elapsedMs
    const forward = saga.steps.find((one) => one.name === step)
    if (forward && !forward.isRetried && !saga.compensation.some((one) => one.name === step)) failure ??= error
    else if (!abandoned) endError = error
    abandoned ||= final || saga.compensation.some((one) => one.name === step && (failures[step] ?? 0) >= (one.maxFailures ?? Infinity))
  }
  const facts = { begun, done, tries, failures, failedAtMs, failure, endError }
  abandoned ||= saga.compensation.some((one) => !done.has(one.name) && (tries[one.name] ?? 0) >= (one.maxTries ?? Infinity))
  return { entries, ...facts, abandoned }
}

/** The results that are worthless once a step begins again: not those of a step that also stands before it. The commit is never discarded. */
function discardedBy<Step extends string>(saga: Saga<Step, never>, step: Step, begun: ReadonlySet<Step>): readonly Step[] {
  const fixed = !isForward(saga, step) || (saga.fixedFrom !== undefined && begun.has(saga.fixedFrom))
  const names = saga.steps.map(({ name }) => name)
  const commit = names.at(-1)
  const at = names.indexOf(step)
  const later = names.slice(at).filter((name) => names.indexOf(name) >= at)
  return (fixed ? [step] : later).filter((one) => one !== commit)
}

export const isCommitted = <Step extends string>({ steps }: Pick<Saga<Step, never>, 'steps'>, { done }: Counts<Step>): boolean =>
  done.has(steps.at(-1)?.name as Step)
