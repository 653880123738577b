import type { AgentError } from './command-parts.ts'

// A command that goes one way or comes all the way back, decided: what is next, given what was written down.
// Invariants: a step is begun only when all before it are done and still hold; nothing forward is begun after a failure; nothing is taken
// back after the commit, which is the last step of `there`.

export type Course<Step extends string> = Readonly<{
  /** In their order. The last one is the commit. */
  there: readonly Step[]
  /** What is left to do once it is committed; a failure of these changes nothing about how it ended. */
  after: readonly Step[]
  /** What takes a failed one back, in its order; each is needed only if the step that it takes back was begun. */
  back: readonly Readonly<{ step: Step; takesBack: Step }>[]
}>

export type CourseEvent<Step extends string> = Readonly<{
  step: Step
  mark: 'intent' | 'done' | 'failed'
  error?: AgentError | undefined
}>

/** What the journal says, folded. A step begun anew makes worthless what had been done after it. */
export type CourseFacts<Step extends string> = Readonly<{
  begun: ReadonlySet<Step>
  done: ReadonlySet<Step>
  tries: Readonly<Partial<Record<Step, number>>>
  /** What turned it round: the first failure on the way there. */
  failure: AgentError | null
  /** The last failure of what had to be done in the end. */
  endError: AgentError | null
}>

/** What must be done in the end is tried so often, then an operator hears of it. */
const triesAtTheEnd = 5
/** A step that is done again and again and never holds has an adversary on the host. */
const mostTries = 20

export function foldCourse<Step extends string>(course: Course<Step>, events: readonly CourseEvent<Step>[]): CourseFacts<Step> {
  const begun = new Set<Step>()
  const done = new Set<Step>()
  const tries: Partial<Record<Step, number>> = {}
  let failure: AgentError | null = null
  let endError: AgentError | null = null
  for (const { step, mark, error = null } of events) {
    const forward = course.there.includes(step)
    if (mark === 'done') done.add(step)
    if (mark === 'failed' && forward) failure ??= error
    if (mark === 'failed' && !forward) endError = error
    if (mark !== 'intent') continue
    begun.add(step)
    tries[step] = (tries[step] ?? 0) + 1
    for (const later of forward ? course.there.slice(course.there.indexOf(step)) : [step]) done.delete(later)
  }
  return { begun, done, tries, failure, endError }
}

export const isCommitted = <Step extends string>({ there }: Course<Step>, { done }: CourseFacts<Step>): boolean =>
  done.has(there.at(-1) as Step)

/**
 * The step to do now, after which one looks again; undefined when it is over. `holds` says whether what a done step made is still so:
 * it is asked only while the commit is ahead.
 */
export function nextStep<Step extends string>(
  course: Course<Step>,
  facts: CourseFacts<Step>,
  holds: (step: Step) => boolean = () => true,
): Step | undefined {
  const left = (steps: readonly Step[]) => steps.find((step) => !facts.done.has(step))
  if (isCommitted(course, facts)) return atTheEnd(facts, left(course.after))
  if (!facts.failure) return course.there.find((step) => !facts.done.has(step) || !holds(step))
  return atTheEnd(facts, left(course.back.filter(({ takesBack }) => facts.begun.has(takesBack)).map(({ step }) => step)))
}

// One that cannot be done holds up what comes after it: a box that did not start again is not opened.
const atTheEnd = <Step extends string>({ tries }: CourseFacts<Step>, step: Step | undefined): Step | undefined =>
  step !== undefined && (tries[step] ?? 0) < triesAtTheEnd ? step : undefined

/** Whether all that had to be done in the end was done; if not, `endError` says why. */
export const endedCleanly = <Step extends string>(course: Course<Step>, facts: CourseFacts<Step>): boolean => {
  const steps = isCommitted(course, facts)
    ? course.after
    : course.back.filter(({ takesBack }) => facts.begun.has(takesBack)).map(({ step }) => step)
  return steps.every((step) => facts.done.has(step))
}

/** Why a step is not begun once more, although the plan says so; written down as its failure. */
export const tooManyTries = <Step extends string>({ tries }: CourseFacts<Step>, step: Step): AgentError | undefined =>
  (tries[step] ?? 0) < mostTries
    ? undefined
    : {
        code: 'CONFLICT',
        message: `the step ${step} was begun ${mostTries} times and does not hold: something on the host starts the box or removes its fence`,
      }
