import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { fileNameOf, printRecord, readRecord } from './record-text.ts'
import type { Shelf } from './shelf.ts'

/**
 * One line of a command's journal. `elapsedMs` counts from the command's beginning on the monotonic clock, over restarts of the agent.
 * `intent` is written before an act, `done` or `failed` after it, `note` for evidence.
 */
export type JournalEntry = Readonly<{
  at: string
  elapsedMs: number
  step: string
  mark: 'intent' | 'done' | 'failed' | 'note'
  data?: unknown
}>

export type CommandRecord = Readonly<{
  commandId: string
  kind: string
  slug: string
  payload: unknown
  begunAt: string
  entries: readonly JournalEntry[]
  /** Set once the command is over; it is then never done again. */
  closed: Readonly<{ at: string; result: unknown; acknowledgedAt: string | null }> | null
}>

export type Beginning = Pick<CommandRecord, 'commandId' | 'kind' | 'slug' | 'payload'>

export type CommandJournal = Readonly<{
  /** The record of a new command, or of one begun before: the caller goes on from there. Throws CONFLICT when the id belongs to another command. */
  begin(command: Beginning): Promise<CommandRecord>
  find(commandId: string): Promise<CommandRecord | undefined>
  /** Whether the record of a command was set aside: nobody knows how far it came. */
  isDamaged(commandId: string): boolean
  /** On disk when it resolves. */
  append(commandId: string, entry: Omit<JournalEntry, 'at'>): Promise<CommandRecord>
  /** Ends the command with the result that the daemon is to get. */
  close(commandId: string, result: unknown): Promise<void>
  /** All that is remembered, oldest first. */
  all(): Promise<readonly CommandRecord[]>
  /** Begun and not over: what a started agent goes on with. */
  open(): Promise<readonly CommandRecord[]>
  /** Over, and the daemon does not know it yet. */
  unacknowledged(): Promise<readonly CommandRecord[]>
  /** The daemon has the result. It is kept some more days, because an old lease may still bring the command again. */
  acknowledge(commandId: string): Promise<void>
}>

type Deps = Readonly<{
  shelf: Shelf
  clock: Clock
  keepDays?: number
  /** Told of each file that was set aside, once. */
  onDamaged?: (path: string) => void
}>

/**
 * Opens the journal of an agent and forgets what was acknowledged `keepDays` ago. A record that cannot be read at all is set aside, so that
 * the other boxes of the host go on; its own command is refused from then on, because nobody knows how far it came.
 */
export async function openJournal({ shelf, clock, keepDays = 30, onDamaged }: Deps): Promise<CommandJournal> {
  const records = await readAll(shelf, onDamaged)
  const damaged = new Set(await shelf.aside())
  const isDamaged = (commandId: string) => damaged.has(fileNameOf(commandId))
  await forgetOld(shelf, records, clock.now().getTime() - keepDays * 86_400_000)

  const keep = async (record: CommandRecord): Promise<CommandRecord> => {
    await shelf.write(fileNameOf(record.commandId), printRecord(record))
    records.set(record.commandId, record)
    return record
  }
  const known = (commandId: string): CommandRecord => {
    const record = records.get(commandId)
    if (!record) throw problem('NOT_FOUND', `the journal has no command ${commandId}`)
    return record
  }
  const all = () => [...records.values()].sort((a, b) => (a.begunAt < b.begunAt ? -1 : 1))

  return {
    begin: async (command) => {
      const before = records.get(command.commandId)
      if (isDamaged(command.commandId)) throw unreadable(command)
      if (!before) return keep({ ...command, begunAt: isoNow(clock), entries: [], closed: null })
      if (before.kind === command.kind && before.slug === command.slug) return before
      throw problem('CONFLICT', `the command ${command.commandId} was given to this agent before, as ${before.kind} of ${before.slug}`)
    },
    find: async (commandId) => records.get(commandId),
    isDamaged,
    append: async (commandId, entry) => {
      const record = known(commandId)
      return keep({ ...record, entries: [...record.entries, { at: isoNow(clock), ...entry }] })
    },
    close: async (commandId, result) => {
      const record = known(commandId)
      if (!record.closed) await keep({ ...record, closed: { at: isoNow(clock), result, acknowledgedAt: null } })
    },
    all: async () => all(),
    open: async () => all().filter(({ closed }) => !closed),
    unacknowledged: async () => all().filter(({ closed }) => closed && !closed.acknowledgedAt),
    acknowledge: async (commandId) => {
      const record = records.get(commandId)
      if (record?.closed) await keep({ ...record, closed: { ...record.closed, acknowledgedAt: isoNow(clock) } })
    },
  }
}

async function readAll(shelf: Shelf, onDamaged?: (path: string) => void): Promise<Map<string, CommandRecord>> {
  const records = new Map<string, CommandRecord>()
  for (const name of await shelf.names()) {
    const record = readRecord(await shelf.read(name))
    if (record) {
      records.set(record.commandId, record)
      continue
    }
    const path = await shelf.setAside(name)
    onDamaged?.(path)
  }
  return records
}

const unreadable = ({ commandId, slug }: Beginning) =>
  problem(
    'INTERNAL',
    `the journal of ${commandId} is damaged and was set aside, so nobody knows how far it came: look at the box ${slug}, its fence and its containers, and plan anew`,
  )

async function forgetOld(shelf: Shelf, records: Map<string, CommandRecord>, beforeMs: number): Promise<void> {
  for (const { commandId, closed } of records.values()) {
    if (!closed?.acknowledgedAt || Date.parse(closed.acknowledgedAt) >= beforeMs) continue
    await shelf.remove(fileNameOf(commandId))
    records.delete(commandId)
  }
}
