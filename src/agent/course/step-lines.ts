import type { AgentError, StepEvent } from '../../core/boxes/index.ts'
import { isProblem, printable } from '../../core/kit/index.ts'
import type { JournalEntry } from '../journal/index.ts'

type Failure = { error?: AgentError; final?: boolean }

/** What the lines of a command's journal say of its steps; notes are for people. */
export const eventsOf = <Step extends string>(entries: readonly JournalEntry[]): StepEvent<Step>[] =>
  entries.flatMap(({ step, mark, data }) => {
    if (mark === 'note') return []
    const { error, final } = mark === 'failed' ? ((data ?? {}) as Failure) : {}
    return { step: step as Step, mark, error, final }
  })

/** As a failed step is written down. */
export function asAgentError(error: unknown): AgentError {
  const message = printable(error instanceof Error ? error.message : String(error)).slice(0, 500)
  return { code: isProblem(error) ? error.code : 'INTERNAL', message }
}
