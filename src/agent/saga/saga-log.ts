import type { Clock } from '../../core/kit/index.ts'
import { foldSaga, type Saga, type SagaFacts } from '../../core/saga/index.ts'
import { type CommandJournal, type CommandRecord, type JournalEntry, stopwatch } from '../journal/index.ts'
import type { CommandContext } from '../ports/index.ts'
import { retry } from './retry.ts'

/** The journal of one saga in the hands of one agent. */
export type SagaLog<Step extends string> = Readonly<{
  entries(): readonly JournalEntry[]
  facts(): SagaFacts<Step>
  /** The latest result of a step. */
  resultOf(step: Step): unknown
  /** Since the command began, over restarts of the agent. */
  elapsedMs(): number
  write(step: string, mark: JournalEntry['mark'], data?: unknown): Promise<void>
  /** Removes the record of a command that ends before it touched anything; best effort. */
  discard(): Promise<void>
}>

type Deps = Readonly<{ journal: CommandJournal; clock: Clock }>
type Opening<Step extends string, World> = Readonly<{ context: CommandContext; record: CommandRecord; saga: Saga<Step, World> }>

export function openSagaLog<Step extends string, World>(deps: Deps, { context, record: found, saga }: Opening<Step, World>): SagaLog<Step> {
  let record = found
  const elapsedMs = stopwatch(deps.clock, record)
  const facts = () => foldSaga(saga, record.entries)
  return {
    entries: () => record.entries,
    facts,
    resultOf: (step) => resultIn(record, step),
    elapsedMs,
    discard: () => deps.journal.discard(record.commandId).catch(() => undefined),
    write: async (step, mark, data) => {
      const entry = { elapsedMs: elapsedMs(), step, mark, ...(data === undefined ? {} : { data }) }
      const append = () => deps.journal.append(record.commandId, entry)
      record = await (mustFinish(saga, facts()) ? retry({ deps, context }, 'the journal cannot be written', append) : append())
    },
  }
}

/** The latest result of a step, also from before a restart of the agent. */
export const resultIn = ({ entries }: Pick<CommandRecord, 'entries'>, step: string): unknown =>
  entries.findLast((entry) => entry.step === step && entry.mark === 'done')?.data

/** Once a change of the box has begun, an unavailable journal or engine must not end it. */
export const mustFinish = <Step extends string, World>({ mustFinishFrom }: Saga<Step, World>, { begun }: SagaFacts<Step>): boolean =>
  mustFinishFrom === undefined || mustFinishFrom.some((step) => begun.has(step))
