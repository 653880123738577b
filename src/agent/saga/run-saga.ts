import { type Clock, duration, isProblemCode, problem } from '../../core/kit/index.ts'
import { nextStep, type Saga, type SagaError, type SagaFacts, type SagaOutcome } from '../../core/saga/index.ts'
import { inChildSpan } from '../../node/index.ts'
import { type CommandJournal, type CommandRecord, isFullDisk, type JournalEntry } from '../journal/index.ts'
import type { CommandContext } from '../ports/index.ts'
import { asSagaError, retry } from './retry.ts'
import { mustFinish, openSagaLog, type SagaLog } from './saga-log.ts'

export type StepContext<Step extends string> = Readonly<{
  /** Aborts when the agent drains and when the step's time is over. */
  signal: AbortSignal
  /** The latest result of a step. */
  resultOf(step: Step): unknown
  /** Records evidence. */
  note(data: unknown): Promise<void>
}>

/** An act may be called again after a kill at any point. The journal stores its result, which must not contain secrets. */
export type SagaActs<Step extends string> = Readonly<Record<Step, (at: StepContext<Step>) => Promise<unknown>>>

type Deps = Readonly<{
  clock: Clock
  /** Frees the disk space that is reserved for the journal and rollbacks. */
  releaseDiskReserve?: () => Promise<void>
}>

type Running<Step extends string, World> = Readonly<{
  saga: Saga<Step, World>
  log: SagaLog<Step>
  context: CommandContext
  acts: SagaActs<Step>
  observe(): Promise<World>
  /** From the command's beginning, for forward steps; null for none. */
  deadlineMs: number | null
  /** For one try of any other step; the default is 2 h. */
  endTimeoutMs?: number
}>

/**
 * Observes, asks core for the next step, does it, and repeats until the saga is over. Throws when the agent drains, which leaves the command
 * open, and while nothing has begun, when the journal cannot be written: the command has then failed, and its record is removed.
 */
export async function runSaga<Step extends string, World>(deps: Deps, running: Running<Step, World>): Promise<SagaOutcome> {
  const { saga, log, context } = running
  try {
    return await runSteps(deps, running)
  } catch (error) {
    if (!context.signal.aborted && !mustFinish(saga, log.facts())) await log.discard()
    throw error
  }
}

async function runSteps<Step extends string, World>(deps: Deps, running: Running<Step, World>): Promise<SagaOutcome> {
  const { saga, log, context, deadlineMs } = running
  for (;;) {
    context.signal.throwIfAborted()
    if (log.facts().failure && !mustFinish(saga, log.facts())) return 'rolled_back'
    const seen = await observe(deps, running)
    if (!seen) continue
    const next = nextStep(saga, log.entries(), { world: seen.world, time: { elapsedMs: log.elapsedMs(), deadlineMs } })
    if ('done' in next) return next.done
    if ('fail' in next) await log.write(next.fail, 'failed', { error: next.error, final: next.final })
    else if ('wait' in next) await deps.clock.sleep(next.wait - log.elapsedMs(), context.signal)
    else await runStep(deps, running, 'do' in next ? next.do : next.compensate)
  }
}

/** Undefined after a failure was recorded: while nothing has begun, an engine that does not answer fails the saga; later it is waited for. */
async function observe<Step extends string, World>(
  deps: Deps,
  { saga, log, context, observe }: Running<Step, World>,
): Promise<{ world: World } | undefined> {
  if (mustFinish(saga, log.facts())) return { world: await retry({ deps, context }, 'the state of the box cannot be read', observe) }
  try {
    return { world: await observe() }
  } catch (error) {
    context.signal.throwIfAborted()
    await log.write(saga.steps[0]?.name as string, 'failed', { error: asSagaError(error) })
    return undefined
  }
}

/** Only a fence that cannot be lifted gets here. The command stays open, and the next start of the agent tries again. */
const maxTries = 50

async function runStep<Step extends string, World>(deps: Deps, running: Running<Step, World>, step: Step): Promise<void> {
  const { saga, log, context } = running
  if ((log.facts().tries[step] ?? 0) > maxTries) throw neverHolds(saga, step)
  await log.write(step, 'intent')
  context.progress({ step })
  const isForward = saga.steps.some(({ name, isRetried }) => name === step && !isRetried) && !log.facts().failure
  const outcome = await inChildSpan(step, async (span) => {
    const end = await attempt(deps, running, { step, isForward })
    if ('error' in end) span?.fail(end.error.code)
    return end
  })
  if ('error' in outcome) await log.write(step, 'failed', outcome)
  else await log.write(step, 'done', outcome.result)
}

type Attempt<Step> = Readonly<{ step: Step; isForward: boolean }>

async function attempt<Step extends string, World>(
  deps: Deps,
  running: Running<Step, World>,
  attempted: Attempt<Step>,
): Promise<{ result: unknown } | { error: SagaError }> {
  const { log, context, acts } = running
  const { step, isForward } = attempted
  const deadline = deadlineOf(deps, running, attempted)
  try {
    const note = (data: unknown) => log.write(step, 'note', data)
    return { result: await acts[step]({ signal: deadline.signal, resultOf: log.resultOf, note }) }
  } catch (error) {
    if (context.signal.aborted) throw error
    if (!isForward && isFullDisk(error)) await deps.releaseDiskReserve?.().catch(() => undefined)
    return { error: asSagaError(deadline.signal.aborted ? deadline.signal.reason : error) }
  } finally {
    deadline.end()
  }
}

const neverHolds = <Step extends string, World>({ name, codes }: Saga<Step, World>, step: Step) => {
  const code = codes?.neverHolds ?? 'CONFLICT'
  return problem(
    isProblemCode(code) ? code : 'INTERNAL',
    `the step ${step} of the ${name} ran ${maxTries} times without lasting effect; the agent tries again at its next start`,
  )
}

const defaultEndTimeoutMs = 2 * 3_600_000

/** Forward steps end at the command's deadline. Others may take long, but one that hangs must end in a failure that an operator sees. */
function deadlineOf<Step extends string, World>(
  { clock }: Deps,
  { saga, log, context, deadlineMs, endTimeoutMs = defaultEndTimeoutMs }: Running<Step, World>,
  { step, isForward }: Attempt<Step>,
): { signal: AbortSignal; end(): void } {
  if (isForward && deadlineMs === null) return { signal: context.signal, end: () => undefined }
  const leftMs = isForward ? Math.max(1, (deadlineMs as number) - log.elapsedMs()) : endTimeoutMs
  const timedOut = saga.codes?.timedOut ?? 'INTERNAL'
  const late = () =>
    isForward
      ? problem('COMMAND_EXPIRED', `the deadline of the ${saga.name} passed during the step ${step}`)
      : problem(isProblemCode(timedOut) ? timedOut : 'INTERNAL', `the step ${step} did not end within ${duration(leftMs)}`)
  const over = new AbortController()
  const passed = new AbortController()
  void clock.sleep(leftMs, over.signal).then(() => {
    if (!over.signal.aborted) passed.abort(late())
  })
  // A reason saves the stack of an exception that is never read.
  return { signal: AbortSignal.any([context.signal, passed.signal]), end: () => over.abort('ended') }
}

/** How a saga ended, with what its journal says. */
export type EndedSaga<Step extends string> = Readonly<{
  outcome: SagaOutcome
  facts: SagaFacts<Step>
  entries: readonly JournalEntry[]
  resultOf(step: Step): unknown
  elapsedMs(): number
}>

type BoxSaga<Step extends string, World> = Omit<Running<Step, World>, 'log' | 'observe'> &
  Readonly<{ record: CommandRecord; observe?(log: SagaLog<Step>): Promise<World> }>

/** Opens the log of a command and runs its saga. */
export async function runBoxSaga<Step extends string, World>(
  deps: Deps & Readonly<{ journal: CommandJournal }>,
  { record, observe, ...running }: BoxSaga<Step, World>,
): Promise<EndedSaga<Step>> {
  const log = openSagaLog(deps, { ...running, record })
  const outcome = await runSaga(deps, { ...running, log, observe: async () => (await observe?.(log)) as World })
  return { outcome, facts: log.facts(), entries: log.entries(), resultOf: log.resultOf, elapsedMs: log.elapsedMs }
}
