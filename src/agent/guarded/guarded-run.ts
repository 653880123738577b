import type { ProbeRule, StepEvent, StepFacts } from '../../core/boxes/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'
import { type DiskSpace, dumpFolderOf, repositoryOnce } from '../backup/index.ts'
import type { LocalBoxes } from '../boxes/index.ts'
import { eventsOf, patiently } from '../course/index.ts'
import { type CommandJournal, type CommandRecord, type JournalEntry, type OnceOnly, type Stopwatch, stopwatch } from '../journal/index.ts'
import type { BoxServers, CommandContext, ContainerEngine, LocalBox, Repository, SnapshotStore } from '../ports/index.ts'
import { isHeld } from './drive.ts'
import { evidenceOf } from './journal-lines.ts'

/** What every guarded change stands on. `once` is shared by all executors of an agent: it holds the locks of the boxes. */
export type GuardedDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  boxes: LocalBoxes
  journal: CommandJournal
  once: OnceOnly
  clock: Clock
  disk: DiskSpace
  /** Dumps lie below it until their change is over; as private as the agent's own files. */
  workFolder: string
  /** Repositories that this host may run, from the agent's own config. */
  allowedImages: readonly string[]
  /** The longest that one try of a step on the way back may take; the default is 6 h. */
  wayBackMs?: number
  /** Gives up the room that only the journal and the way back may use. */
  releaseBallast?: () => Promise<void>
}>

/** Containers as they were started: another id or one more restart means that one died. `startedAt` is absent in what earlier agents wrote. */
export type Baseline = Readonly<Record<string, Readonly<{ id: string; restartCount: number; startedAt?: string }>>>

/** What all steps of all changes may use of a run. */
export type GuardedRun = Readonly<{
  deps: GuardedDeps
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
  /** Where this command's dump lies, and where parts of a snapshot are fetched to; the sweep knows both by the command's name. */
  dumpFolder: string
  fetchFolder: string
}>

/** One change in the hands of one agent. All that must outlive the agent is in the journal behind it. */
export type Run<Step extends string, Facts extends StepFacts<Step>, Payload, Evidence> = GuardedRun &
  Readonly<{
    payload: Payload
    facts(): Facts
    /** What each step answered when it was done last. */
    evidence(): Evidence
    write(step: Step, mark: JournalEntry['mark'], data?: unknown): Promise<void>
  }>

type Start<Payload> = Readonly<{ deps: GuardedDeps; context: CommandContext; payload: Payload; box: LocalBox; record: CommandRecord }>
type Reading<Step extends string, Facts> = Readonly<{
  fold(events: readonly StepEvent<Step>[]): Facts
  /** From the first of these steps on, the box must not be left. */
  holdsBox: readonly Step[]
}>

export function startGuardedRun<Step extends string, Facts extends StepFacts<Step>, Payload extends GuardedRun['payload'], Evidence>(
  start: Start<Payload>,
  reading: Reading<Step, Facts>,
): Run<Step, Facts, Payload, Evidence> {
  const { deps, context, payload, box } = start
  let { record } = start
  const dumpFolder = dumpFolderOf(deps.workFolder, context.commandId)
  const elapsedMs = stopwatch(deps.clock, record)
  const facts = () => reading.fold(eventsOf(record.entries))
  const write = async (step: string, mark: JournalEntry['mark'], data?: unknown) => {
    const append = () =>
      deps.journal.append(record.commandId, { elapsedMs: elapsedMs(), step, mark, ...(data === undefined ? {} : { data }) })
    record = await (isHeld(facts(), reading) ? patiently(start, 'the journal cannot be written', append) : append())
  }
  return {
    deps,
    context,
    payload,
    box,
    signal: context.signal,
    elapsedMs,
    entries: () => record.entries,
    facts,
    evidence: () => evidenceOf(record.entries) as Evidence,
    write,
    note: (step, data) => write(step, 'note', data),
    repository: repositoryOnce(context),
    dumpFolder,
    fetchFolder: `${dumpFolder}.restored`,
  }
}

/** What a step left that must have been done. */
export function leftBy<Evidence, Step extends keyof Evidence & string>(
  { evidence, context }: Readonly<{ evidence(): Evidence; context: CommandContext }>,
  step: Step,
): NonNullable<Evidence[Step]> {
  const left = evidence()[step]
  if (left === undefined || left === null) throw problem('INTERNAL', `the command ${context.commandId} has no record of its step ${step}`)
  return left
}
