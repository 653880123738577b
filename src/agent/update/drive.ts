import { type AgentError, obstacleTo, planUpdate, type UpdateFacts, type UpdateStep, type UpdateWorld } from '../../core/boxes/index.ts'
import { duration, isProblem, printable, problem } from '../../core/kit/index.ts'
import { observe } from './observe.ts'
import type { UpdateSteps } from './steps.ts'
import type { UpdateRun } from './update-run.ts'

const firstPauseMs = 1_000
const longestPauseMs = 60_000
/** More than the plan itself allows: only a fence that cannot be lifted gets here. The command stays open. */
const mostTries = 50

/**
 * Observes, plans, does one step, and observes again, until nothing is left. Every act stands between two lines of the journal.
 * An abort of the command (the agent drains) leaves it open, to be gone on with; it is never a failure of the update.
 */
export async function drive(run: UpdateRun, steps: UpdateSteps): Promise<UpdateFacts> {
  for (;;) {
    run.context.signal.throwIfAborted()
    const facts = run.facts()
    if (facts.failure && !facts.begun.has('fence')) return facts
    const world = await observePatiently(run, facts)
    if ('error' in world) {
      await run.write('prefetch', 'failed', world)
      continue
    }
    const obstacle = obstacleTo(facts, world)
    const step = planUpdate(facts, world)[0]
    if (obstacle) await run.write(obstacle.step, 'failed', { error: obstacle.error, final: obstacle.final })
    else if (step) await doStep(run, steps, step)
    else return facts
  }
}

// Whoever cannot see the box must not act on it. While nothing has begun that is a failure; afterwards the engine is waited for.
async function observePatiently(run: UpdateRun, facts: UpdateFacts): Promise<UpdateWorld | { error: AgentError }> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await observe(run)
    } catch (error) {
      run.context.signal.throwIfAborted()
      if (!facts.begun.has('fence')) return { error: asAgentError(error) }
      run.context.progress({ step: 'waiting', detail: asAgentError(error).message.slice(0, 300) })
      await run.needs.clock.sleep(pauseMs, run.context.signal)
      run.context.signal.throwIfAborted()
    }
  }
}

async function doStep(run: UpdateRun, steps: UpdateSteps, step: UpdateStep): Promise<void> {
  if ((run.facts().tries[step] ?? 0) > mostTries) throw neverHolds(run, step)
  await run.write(step, 'intent')
  run.context.progress({ step })
  const outcome = await attempt(run, steps, step)
  if (!('error' in outcome)) return run.write(step, 'done', outcome.data)
  await run.write(step, 'failed', outcome)
  await pauseAfter(run, step)
}

async function attempt(run: UpdateRun, steps: UpdateSteps, step: UpdateStep): Promise<{ data: unknown } | { error: AgentError }> {
  const deadline = deadlineFor(run, step)
  try {
    return { data: await steps[step]({ ...run, signal: deadline.signal }) }
  } catch (error) {
    if (run.context.signal.aborted) throw error
    return { error: asAgentError(deadline.signal.aborted ? deadline.signal.reason : error) }
  } finally {
    deadline.end()
  }
}

const undeadlined: readonly UpdateStep[] = ['commit', 'unfence', 'restore-stop', 'restore-data', 'restore-start', 'restore-probe']

/** A try on the way back may take long, but what hangs must end in a failure that an operator hears of. */
const usualWayBackMs = 6 * 3_600_000

/** On the way there every step ends at the command's deadline; the way back takes the time that it needs, within reason. */
function deadlineFor({ context, needs, payload, elapsedMs }: UpdateRun, step: UpdateStep): { signal: AbortSignal; end(): void } {
  const over = new AbortController()
  const passed = new AbortController()
  const back = undeadlined.includes(step)
  const leftMs = back ? (needs.wayBackMs ?? usualWayBackMs) : Math.max(1, payload.deadlineMs - elapsedMs())
  const late = back
    ? problem('RESTORE_FAILED', `the step ${step} did not end within ${duration(leftMs)}`)
    : problem('COMMAND_EXPIRED', `the deadline of the update passed during the step ${step}`)
  void needs.clock.sleep(leftMs, over.signal).then(() => {
    if (!over.signal.aborted) passed.abort(late)
  })
  return { signal: AbortSignal.any([context.signal, passed.signal]), end: () => over.abort() }
}

/** What failed after the decision is tried again less and less often. */
async function pauseAfter({ needs, context, ...run }: UpdateRun, step: UpdateStep): Promise<void> {
  if (!undeadlined.includes(step)) return
  const { failures } = run.facts()
  await needs.clock.sleep(Math.min(firstPauseMs * 4 ** ((failures[step] ?? 1) - 1), longestPauseMs), context.signal)
}

const neverHolds = ({ box }: UpdateRun, step: UpdateStep) =>
  problem(
    'UPDATE_FAILED',
    `the step ${step} of ${box.slug} was tried ${mostTries} times and does not hold; the agent tries again at its next start`,
  )

function asAgentError(error: unknown): AgentError {
  const message = printable(error instanceof Error ? error.message : String(error)).slice(0, 500)
  return { code: isProblem(error) ? error.code : 'INTERNAL', message }
}
