import type { AgentError } from './command-parts.ts'

// What the journal of a guarded change says, folded. Updates and restores are planned from it in the same way.

/** One line of the command's journal, as far as planning needs it. `final` = not worth another try. */
export type StepEvent<Step extends string> = Readonly<{
  step: Step
  mark: 'intent' | 'done' | 'failed'
  error?: AgentError | undefined
  final?: boolean | undefined
}>

/** A step begun anew takes back what had been done after it. */
export type StepFacts<Step extends string> = Readonly<{
  begun: ReadonlySet<Step>
  done: ReadonlySet<Step>
  /** How often each step was begun, and how often it failed. */
  tries: Readonly<Partial<Record<Step, number>>>
  failures: Readonly<Partial<Record<Step, number>>>
  /** What turned the change round: the first failure on the way there. */
  failure: AgentError | null
  /** The last failure on the way back, and whether the way back was given up. */
  backError: AgentError | null
  givenUp: boolean
}>

/** Why the plan cannot be followed; written down as the failure of `step`. */
export type StepObstacle<Step extends string> = Readonly<{ step: Step; error: AgentError; final: boolean }>

type Rules<Step extends string> = Readonly<{
  /** The steps of the way back, and how often each is tried. */
  back: readonly Step[]
  triesBack(step: Step): number
  /** Steps whose failures turn nothing round. */
  harmless?: readonly Step[]
  /** What a step that is begun makes worthless. */
  takenBack(step: Step, begun: ReadonlySet<Step>): readonly Step[]
}>

export function foldSteps<Step extends string>(events: readonly StepEvent<Step>[], rules: Rules<Step>): StepFacts<Step> {
  const begun = new Set<Step>()
  const done = new Set<Step>()
  const tries: Partial<Record<Step, number>> = {}
  const failures: Partial<Record<Step, number>> = {}
  let failure: AgentError | null = null
  let backError: AgentError | null = null
  let final = false
  for (const { step, mark, error = null, final: last = false } of events) {
    if (mark === 'done') done.add(step)
    if (mark === 'intent') {
      begun.add(step)
      tries[step] = (tries[step] ?? 0) + 1
      for (const undone of rules.takenBack(step, begun)) done.delete(undone)
    }
    if (mark !== 'failed') continue
    failures[step] = (failures[step] ?? 0) + 1
    if (rules.back.includes(step)) backError ??= error
    else if (!rules.harmless?.includes(step)) failure ??= error
    final ||= last
  }
  const givenUp = final || rules.back.some((step) => (failures[step] ?? 0) >= rules.triesBack(step))
  return { begun, done, tries, failures, failure, backError, givenUp }
}
