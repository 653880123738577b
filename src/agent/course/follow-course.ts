import { type AgentError, type Course, type CourseFacts, foldCourse, nextStep, tooManyTries } from '../../core/boxes/index.ts'
import { type Clock, duration, problem } from '../../core/kit/index.ts'
import { type CommandJournal, type CommandRecord, type JournalEntry, stopwatch } from '../journal/index.ts'
import type { CommandContext } from '../ports/index.ts'
import { patiently } from './patiently.ts'
import { asAgentError, eventsOf } from './step-lines.ts'

/** What a step is given: when to end, what earlier ones left, and a line for evidence. */
export type StepAt<Step extends string> = Readonly<{
  signal: AbortSignal
  /** What a step answered when it was done last. */
  left(step: Step): unknown
  note(data: unknown): Promise<void>
}>

/** Each may be called again after a kill at any point; what it answers is kept in the journal, so it holds no secret. */
export type Steps<Step extends string> = Readonly<Record<Step, (at: StepAt<Step>) => Promise<unknown>>>

type Deps = Readonly<{ journal: CommandJournal; clock: Clock }>

type Following<Step extends string> = Readonly<{
  context: CommandContext
  record: CommandRecord
  course: Course<Step>
  steps: Steps<Step>
  /** From the command's beginning; null for one that takes the time that its steps take. */
  deadlineMs: number | null
  /** Whether what a done step made is still so; looked at before each step while the commit is ahead. */
  holds?: () => Promise<(step: Step) => boolean>
}>

/** How it ended, with what was written down on the way. */
export type Followed<Step extends string> = Readonly<{
  facts: CourseFacts<Step>
  entries: readonly JournalEntry[]
  left(step: Step): unknown
  elapsedMs(): number
}>

type Run<Step extends string> = Deps &
  Following<Step> &
  Followed<Step> &
  Readonly<{ now(): CourseFacts<Step>; write(step: Step, mark: JournalEntry['mark'], data?: unknown): Promise<void> }>

/** Does one step, looks again, until nothing is left. An abort of the command leaves it open, to be gone on with. */
export async function followCourse<Step extends string>(deps: Deps, following: Following<Step>): Promise<Followed<Step>> {
  const run = startRun(deps, following)
  const { course, context } = following
  for (;;) {
    context.signal.throwIfAborted()
    const facts = run.now()
    const step = nextStep(course, facts, await look(run))
    if (step === undefined) return { facts, entries: run.entries, left: run.left, elapsedMs: run.elapsedMs }
    const error = course.there.includes(step) ? tooManyTries(facts, step) : undefined
    if (error) await run.write(step, 'failed', { error })
    else await doStep(run, step)
  }
}

function startRun<Step extends string>(deps: Deps, following: Following<Step>): Run<Step> {
  let { record } = following
  const elapsedMs = stopwatch(deps.clock, record)
  const now = () => foldCourse(following.course, eventsOf<Step>(record.entries))
  return {
    ...deps,
    ...following,
    get facts() {
      return now()
    },
    get entries() {
      return record.entries
    },
    now,
    elapsedMs,
    left: (step) => leftIn(record, step),
    write: async (step, mark, data) => {
      const entry = { elapsedMs: elapsedMs(), step, mark, ...(data === undefined ? {} : { data }) }
      record = await patiently({ deps, context: following.context }, 'the journal cannot be written', () =>
        deps.journal.append(record.commandId, entry),
      )
    },
  }
}

/** What a step answered when it was done last, in whatever life of the agent. */
export const leftIn = ({ entries }: Pick<CommandRecord, 'entries'>, step: string): unknown =>
  entries.findLast((entry) => entry.step === step && entry.mark === 'done')?.data

const lookAgainMs = 5_000

// Whoever cannot see the host must not act on it, nor call that a failure once something was begun.
async function look<Step extends string>(run: Run<Step>): Promise<(step: Step) => boolean> {
  const { holds, context, clock } = run
  if (!holds || run.now().failure || run.now().done.size === 0) return () => true
  for (;;) {
    try {
      return await holds()
    } catch (error) {
      context.signal.throwIfAborted()
      if (run.deadlineMs !== null && run.elapsedMs() > run.deadlineMs) return () => true
      context.progress({ step: 'waiting', detail: asAgentError(error).message.slice(0, 300) })
      await clock.sleep(lookAgainMs, context.signal)
      context.signal.throwIfAborted()
    }
  }
}

async function doStep<Step extends string>(run: Run<Step>, step: Step): Promise<void> {
  await run.write(step, 'intent')
  run.context.progress({ step })
  const outcome = await attempt(run, step)
  if (!('error' in outcome)) return run.write(step, 'done', outcome.data)
  await run.write(step, 'failed', outcome)
  if (!run.course.there.includes(step)) await pause(run, step)
}

async function attempt<Step extends string>(run: Run<Step>, step: Step): Promise<{ data: unknown } | { error: AgentError }> {
  const deadline = deadlineFor(run, step)
  const at: StepAt<Step> = { signal: deadline.signal, left: run.left, note: (data) => run.write(step, 'note', data) }
  try {
    deadline.signal.throwIfAborted()
    return { data: await run.steps[step](at) }
  } catch (error) {
    if (run.context.signal.aborted) throw error
    return { error: asAgentError(deadline.signal.aborted ? deadline.signal.reason : error) }
  } finally {
    deadline.end()
  }
}

/** What has to be done in the end may take long, but what hangs must end in a failure that an operator hears of. */
const longestAtTheEndMs = 2 * 3_600_000

function deadlineFor<Step extends string>(run: Run<Step>, step: Step): { signal: AbortSignal; end(): void } {
  const { context, clock, course, deadlineMs } = run
  const forward = course.there.includes(step)
  if (forward && deadlineMs === null) return { signal: context.signal, end: () => undefined }
  const leftMs = forward ? (deadlineMs as number) - run.elapsedMs() : longestAtTheEndMs
  const late = forward
    ? problem('COMMAND_EXPIRED', `the deadline of the command passed at the step ${step}`)
    : problem('INTERNAL', `the step ${step} did not end within ${duration(longestAtTheEndMs)}`)
  if (leftMs <= 0) return { signal: AbortSignal.abort(late), end: () => undefined }
  const over = new AbortController()
  const passed = new AbortController()
  void clock.sleep(leftMs, over.signal).then(() => {
    if (!over.signal.aborted) passed.abort(late)
  })
  return { signal: AbortSignal.any([context.signal, passed.signal]), end: () => over.abort() }
}

const firstPauseMs = 1_000

/** What failed in the end is tried again less and less often. */
async function pause<Step extends string>({ clock, context, now }: Run<Step>, step: Step): Promise<void> {
  await clock.sleep(firstPauseMs * 4 ** ((now().tries[step] ?? 1) - 1), context.signal)
}
