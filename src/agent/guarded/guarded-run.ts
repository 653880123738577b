import type { ProbeRule, StepFacts } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import { dumpFolderOf, fetchRepository } from '../backup/index.ts'
import { type CommandJournal, type CommandRecord, type JournalEntry, type Stopwatch, stopwatch } from '../journal/index.ts'
import type { BoxInside, CommandContext, ContainerEngine, LocalBox, Repository } from '../ports/index.ts'
import { isHeld } from './drive.ts'

export type GuardedNeeds = Readonly<{
  engine: ContainerEngine
  inside: BoxInside
  journal: CommandJournal
  clock: Clock
  workFolder: string
  /** The longest that one try of a step on the way back may take; the default is 6 h. */
  wayBackMs?: number
}>

/** Containers as they were started: another id or one more restart means that one died. `startedAt` is absent in what earlier agents wrote. */
export type Baseline = Readonly<Record<string, Readonly<{ id: string; restartCount: number; startedAt?: string }>>>

/** What all steps of all changes may use of a run. */
export type GuardedRun<Needs extends GuardedNeeds = GuardedNeeds> = Readonly<{
  needs: Needs
  context: CommandContext
  payload: Readonly<{ probe: ProbeRule; deadlineMs: number }>
  box: LocalBox
  /** Aborts when the agent drains and, on the way there, at the deadline. */
  signal: AbortSignal
  elapsedMs: Stopwatch
  entries(): readonly JournalEntry[]
  note(step: string, data: unknown): Promise<void>
  /** The tenant's repository and its password; asked for once, kept in memory only. */
  repository(): Promise<Repository>
  /** Where this command's dump lies. */
  dumpFolder: string
}>

/** One change in the hands of one agent. All that must outlive the agent is in the journal behind it. */
export type Run<Step extends string, Payload, Needs extends GuardedNeeds, Evidence> = GuardedRun<Needs> &
  Readonly<{
    payload: Payload
    facts(): StepFacts<Step>
    evidence(): Evidence
    write(step: Step, mark: JournalEntry['mark'], data?: unknown): Promise<void>
  }>

type Start<Payload, Needs> = Readonly<{ needs: Needs; context: CommandContext; payload: Payload; box: LocalBox; record: CommandRecord }>
type Reading<Step extends string, Evidence> = Readonly<{
  facts(entries: readonly JournalEntry[]): StepFacts<Step>
  evidence(entries: readonly JournalEntry[]): Evidence
  /** From the first of these steps on, the box must not be left. */
  holdsBox: readonly Step[]
}>

export function startGuardedRun<Step extends string, Payload extends GuardedRun['payload'], Needs extends GuardedNeeds, Evidence>(
  start: Start<Payload, Needs>,
  reading: Reading<Step, Evidence>,
): Run<Step, Payload, Needs, Evidence> {
  const { needs, context, payload, box } = start
  let { record } = start
  let repository: Repository | undefined
  const elapsedMs = stopwatch(needs.clock, record)
  const write = async (step: string, mark: JournalEntry['mark'], data?: unknown) => {
    const append = () =>
      needs.journal.append(record.commandId, { elapsedMs: elapsedMs(), step, mark, ...(data === undefined ? {} : { data }) })
    record = await (isHeld(reading.facts(record.entries), reading) ? patientWrite(needs, context, append) : append())
  }
  return {
    needs,
    context,
    payload,
    box,
    signal: context.signal,
    elapsedMs,
    entries: () => record.entries,
    facts: () => reading.facts(record.entries),
    evidence: () => reading.evidence(record.entries),
    write,
    note: (step, data) => write(step, 'note', data),
    repository: async () => {
      repository ??= await fetchRepository(context)
      return repository
    },
    dumpFolder: dumpFolderOf(needs.workFolder, context.commandId),
  }
}

const writeAgainMs = 5_000

// A box that is fenced must not be left because its journal cannot be written: the agent waits for room, and says so.
const patientWrite = (needs: GuardedNeeds, context: CommandContext, append: () => Promise<CommandRecord>): Promise<CommandRecord> =>
  patiently({ needs, context }, 'the journal cannot be written', append)

/** Writes until it holds; only a drain ends it, and the command goes on at the next start. */
export async function patiently<Result>(
  { needs: { clock }, context: { signal, progress } }: Readonly<{ needs: Pick<GuardedNeeds, 'clock'>; context: CommandContext }>,
  what: string,
  write: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await write()
    } catch (error) {
      signal.throwIfAborted()
      progress({ step: 'waiting', detail: `${what}: ${(error as Error).message}`.slice(0, 300) })
      await clock.sleep(writeAgainMs, signal)
      signal.throwIfAborted()
    }
  }
}
