import { type BoxCommandPayload, foldUpdate, type ProbeResult, type UpdateFacts, type UpdateStep } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { dumpFolderOf, fetchRepository } from '../backup/index.ts'
import { type CommandRecord, type JournalEntry, type Stopwatch, stopwatch } from '../journal/index.ts'
import type { CommandContext, LocalBox, Repository } from '../ports/index.ts'
import { type Evidence, eventsOf, evidenceOf } from './evidence.ts'
import type { UpdateNeeds } from './needs.ts'

export type UpdatePayload = BoxCommandPayload<'tenant-box.update'>

/** One update in the hands of one agent. All that must outlive the agent is in the journal behind it. */
export type UpdateRun = Readonly<{
  needs: UpdateNeeds
  context: CommandContext
  payload: UpdatePayload
  box: LocalBox
  /** Aborts when the agent drains and, on the way there, at the deadline. */
  signal: AbortSignal
  elapsedMs: Stopwatch
  entries(): readonly JournalEntry[]
  facts(): UpdateFacts
  evidence(): Evidence
  write(step: UpdateStep, mark: JournalEntry['mark'], data?: unknown): Promise<void>
  /** The tenant's repository and its password; asked for once, kept in memory only. */
  repository(): Promise<Repository>
  /** Where this update's dump lies. */
  dumpFolder: string
}>

type Start = Pick<UpdateRun, 'needs' | 'context' | 'payload' | 'box'> & Readonly<{ record: CommandRecord }>

export function startRun({ needs, context, payload, box, record: begun }: Start): UpdateRun {
  let record = begun
  let repository: Repository | undefined
  const elapsedMs = stopwatch(needs.clock, begun)
  return {
    needs,
    context,
    payload,
    box,
    signal: context.signal,
    elapsedMs,
    entries: () => record.entries,
    facts: () => foldUpdate(eventsOf(record.entries)),
    evidence: () => evidenceOf(record.entries),
    write: async (step, mark, data) => {
      const append = () =>
        needs.journal.append(record.commandId, { elapsedMs: elapsedMs(), step, mark, ...(data === undefined ? {} : { data }) })
      const mayWait = foldUpdate(eventsOf(record.entries)).begun.has('fence')
      record = await (mayWait ? patientWrite(needs, context, append) : append())
    },
    repository: async () => {
      repository ??= await fetchRepository(context)
      return repository
    },
    dumpFolder: dumpFolderOf(needs.workFolder, context.commandId),
  }
}

const writeAgainMs = 5_000

// A box that is fenced must not be left because its journal cannot be written: the agent waits for room, and says so.
async function patientWrite(needs: UpdateNeeds, { signal, progress }: CommandContext, append: () => Promise<CommandRecord>) {
  for (;;) {
    try {
      return await append()
    } catch (error) {
      signal.throwIfAborted()
      progress({ step: 'waiting', detail: `the journal cannot be written: ${(error as Error).message}`.slice(0, 300) })
      await needs.clock.sleep(writeAgainMs, signal)
      signal.throwIfAborted()
    }
  }
}

/** What the first step found and wrote down; every later one builds on it. */
export function beforeOf(run: UpdateRun): NonNullable<Evidence['prefetch']> {
  const { prefetch } = run.evidence()
  if (!prefetch) throw problem('INTERNAL', `the update ${run.context.commandId} has no record of the box before it`)
  return prefetch
}

export const noteProbe = (run: UpdateRun, step: UpdateStep, probe: ProbeResult): Promise<void> => run.write(step, 'note', { probe })
