import type { AgentError, StepFacts, StepObstacle } from '../../core/boxes/index.ts'
import { duration, problem } from '../../core/kit/index.ts'
import { asAgentError } from '../course/index.ts'
import { isFullDisk, type JournalEntry } from '../journal/index.ts'
import type { GuardedRun } from './guarded-run.ts'

export type What = 'update' | 'restore'

/** What a change brings along: how it is looked at, what core decides about it, and what its steps do. */
export type DriveRules<Step extends string, Facts, World, Driven> = Readonly<{
  /** As operators read it. */
  what: What
  observe(run: Driven): Promise<World>
  obstacle(facts: Facts, world: World): StepObstacle<Step> | undefined
  plan(facts: Facts, world: World): readonly Step[]
  /** Each may be called again after a kill at any point; what it answers is kept in the journal. */
  steps: Readonly<Record<Step, (run: Driven) => Promise<unknown>>>
  first: Step
  /** From the first of these on the box must not be left. */
  holdsBox: readonly Step[]
  /** Steps that take the time that they need, within reason: the decision and the way back. */
  undeadlined: readonly Step[]
}>

type Driven<Step extends string, Facts = StepFacts<Step>> = GuardedRun &
  Readonly<{ facts(): Facts; write(step: Step, mark: JournalEntry['mark'], data?: unknown): Promise<void> }>

const firstPauseMs = 1_000
const longestPauseMs = 60_000
/** More than the plan itself allows: only a fence that cannot be lifted gets here. The command stays open. */
const mostTries = 50

/**
 * Observes, plans, does one step, and observes again, until nothing is left. Every act stands between two lines of the journal.
 * An abort of the command (the agent drains) leaves it open, to be gone on with; it is never a failure of the change.
 */
export async function drive<Step extends string, Facts extends StepFacts<Step>, World extends object, This extends Driven<Step, Facts>>(
  run: This,
  rules: DriveRules<Step, Facts, World, This>,
): Promise<Facts> {
  for (;;) {
    run.context.signal.throwIfAborted()
    const facts = run.facts()
    if (facts.failure && !isHeld(facts, rules)) return facts
    const seen = await observePatiently(run, rules, facts)
    if ('error' in seen) {
      await run.write(rules.first, 'failed', seen)
      continue
    }
    const obstacle = rules.obstacle(facts, seen.world)
    const step = rules.plan(facts, seen.world)[0]
    if (obstacle) await run.write(obstacle.step, 'failed', { error: obstacle.error, final: obstacle.final })
    else if (step !== undefined) await doStep(run, rules, step)
    else return facts
  }
}

export const isHeld = <Step extends string>(
  { begun }: Pick<StepFacts<Step>, 'begun'>,
  { holdsBox }: Readonly<{ holdsBox: readonly Step[] }>,
): boolean => holdsBox.some((step) => begun.has(step))

// Whoever cannot see the box must not act on it. While nothing has begun that is a failure; afterwards the engine is waited for.
async function observePatiently<Step extends string, World, This extends Driven<Step>>(
  run: This,
  rules: Pick<DriveRules<Step, never, World, This>, 'observe' | 'holdsBox'>,
  facts: StepFacts<Step>,
): Promise<{ world: World } | { error: AgentError }> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return { world: await rules.observe(run) }
    } catch (error) {
      run.context.signal.throwIfAborted()
      if (!isHeld(facts, rules)) return { error: asAgentError(error) }
      run.context.progress({ step: 'waiting', detail: asAgentError(error).message.slice(0, 300) })
      await run.deps.clock.sleep(pauseMs, run.context.signal)
      run.context.signal.throwIfAborted()
    }
  }
}

async function doStep<Step extends string, This extends Driven<Step>>(run: This, rules: Doing<Step, This>, step: Step): Promise<void> {
  if ((run.facts().tries[step] ?? 0) > mostTries) throw neverHolds(run, rules.what, step)
  await run.write(step, 'intent')
  run.context.progress({ step })
  const outcome = await attempt(run, rules, step)
  if (!('error' in outcome)) return run.write(step, 'done', outcome.data)
  await run.write(step, 'failed', outcome)
  if (rules.undeadlined.includes(step)) await pauseAfter(run, step)
}

type Doing<Step extends string, This> = Pick<DriveRules<Step, never, unknown, This>, 'what' | 'steps' | 'undeadlined'>

async function attempt<Step extends string, This extends Driven<Step>>(
  run: This,
  rules: Doing<Step, This>,
  step: Step,
): Promise<{ data: unknown } | { error: AgentError }> {
  const deadline = deadlineFor(run, rules, step)
  try {
    return { data: await rules.steps[step]({ ...run, signal: deadline.signal }) }
  } catch (error) {
    if (run.context.signal.aborted) throw error
    // A box must not rest stopped for want of the room that is kept for its way back.
    if (rules.undeadlined.includes(step) && isFullDisk(error)) await run.deps.releaseBallast?.().catch(() => undefined)
    return { error: asAgentError(deadline.signal.aborted ? deadline.signal.reason : error) }
  } finally {
    deadline.end()
  }
}

/** A try on the way back may take long, but what hangs must end in a failure that an operator hears of. */
const usualWayBackMs = 6 * 3_600_000

/** On the way there every step ends at the command's deadline; the way back takes the time that it needs, within reason. */
function deadlineFor<Step extends string>(
  { context, deps, payload, elapsedMs }: GuardedRun,
  { what, undeadlined }: Doing<Step, never>,
  step: Step,
): { signal: AbortSignal; end(): void } {
  const over = new AbortController()
  const passed = new AbortController()
  const back = undeadlined.includes(step)
  const leftMs = back ? (deps.wayBackMs ?? usualWayBackMs) : Math.max(1, payload.deadlineMs - elapsedMs())
  const late = () =>
    back
      ? problem('RESTORE_FAILED', `the step ${step} did not end within ${duration(leftMs)}`)
      : problem('COMMAND_EXPIRED', `the deadline of the ${what} passed during the step ${step}`)
  void deps.clock.sleep(leftMs, over.signal).then(() => {
    if (!over.signal.aborted) passed.abort(late())
  })
  return { signal: AbortSignal.any([context.signal, passed.signal]), end: () => over.abort(ended) }
}

/** A signal that is given no reason makes an exception with a stack; nobody reads this one. */
const ended = 'ended'

/** What failed after the decision is tried again less and less often. */
async function pauseAfter<Step extends string>({ deps, context, facts }: Driven<Step>, step: Step): Promise<void> {
  await deps.clock.sleep(Math.min(firstPauseMs * 4 ** ((facts().failures[step] ?? 1) - 1), longestPauseMs), context.signal)
}

export const failedAs = { update: 'UPDATE_FAILED', restore: 'RESTORE_FAILED' } as const

const neverHolds = ({ box }: GuardedRun, what: What, step: string) =>
  problem(
    failedAs[what],
    `the step ${step} of ${box.slug} was tried ${mostTries} times and does not hold; the agent tries again at its next start`,
  )
