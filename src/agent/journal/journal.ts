import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import type { CommandRecord, JournalEntry } from './command-record.ts'
import { isFullDisk } from './disk-reserve.ts'
import type { FileStore } from './file-store.ts'
import { fileNameOf, printRecord, readRecord } from './record-text.ts'

export type NewCommand = Pick<CommandRecord, 'commandId' | 'kind' | 'slug' | 'payload'>

export type CommandJournal = Readonly<{
  /** Returns the record of a new or a resumed command. Throws CONFLICT when the id belongs to another command. */
  begin(command: NewCommand): Promise<CommandRecord>
  find(commandId: string): Promise<CommandRecord | undefined>
  /** True if the record of a command was set aside as damaged. */
  isDamaged(commandId: string): boolean
  /** Durable when it resolves. */
  append(commandId: string, entry: Omit<JournalEntry, 'at'>): Promise<CommandRecord>
  /**
   * Ends the command with the result for the daemon. A full disk never changes the result: this agent knows that the command is over, and
   * the next one comes to the same result from its entries.
   */
  close(commandId: string, result: unknown): Promise<void>
  /** Removes an open command that has touched nothing and failed: a later agent must not continue it. */
  discard(commandId: string): Promise<void>
  /** All records, oldest first. */
  all(): Promise<readonly CommandRecord[]>
  /** Commands that are not over: a started agent continues them. */
  open(): Promise<readonly CommandRecord[]>
  /** Over, but the daemon does not have the result yet. */
  unacknowledged(): Promise<readonly CommandRecord[]>
  /**
   * The daemon has the result. The record stays some days, because an old lease may deliver the command again; one that a full disk
   * keeps from being written is removed, because there it may still be open.
   */
  acknowledge(commandId: string): Promise<void>
}>

type Deps = Readonly<{
  store: FileStore
  clock: Clock
  keepDays?: number
  /** Whether a box is fenced: its records stay, because a person may lift the fence only if they show why it is there. */
  isFenced?: (slug: string) => Promise<boolean>
  /** Called once for each file that was set aside. */
  onDamaged?: (path: string) => void
}>

/**
 * Opens the journal of an agent and deletes records that were acknowledged `keepDays` ago, except those of a fenced box. An unreadable record is set aside, so that
 * other boxes of the host continue; its own command is refused from then on.
 */
export async function openJournal({ store, clock, keepDays = 30, isFenced = async () => false, onDamaged }: Deps): Promise<CommandJournal> {
  const records = await readAll(store, onDamaged)
  const damaged = new Set(await store.aside())
  const isDamaged = (commandId: string) => damaged.has(fileNameOf(commandId))
  const beforeMs = clock.now().getTime() - keepDays * 86_400_000
  const old = [...records.values()].filter(({ closed }) => closed?.acknowledgedAt && Date.parse(closed.acknowledgedAt) < beforeMs)
  for (const { commandId, slug } of old) {
    if (await isFenced(slug)) continue
    await store.remove(fileNameOf(commandId))
    records.delete(commandId)
  }

  const save = async (record: CommandRecord): Promise<CommandRecord> => {
    await store.write(fileNameOf(record.commandId), printRecord(record))
    records.set(record.commandId, record)
    return record
  }
  const remove = async (commandId: string): Promise<void> => store.remove(fileNameOf(commandId))
  const known = (commandId: string): CommandRecord => {
    const record = records.get(commandId)
    if (!record) throw problem('NOT_FOUND', `the journal has no command ${commandId}`)
    return record
  }
  const all = () => [...records.values()].sort((a, b) => (a.begunAt < b.begunAt ? -1 : 1))

  return {
    begin: async (command) => {
      const before = records.get(command.commandId)
      if (isDamaged(command.commandId)) throw damagedRecord(command)
      if (!before) return save({ ...command, begunAt: isoNow(clock), entries: [], closed: null })
      if (before.kind === command.kind && before.slug === command.slug) return before
      throw problem('CONFLICT', `this agent has another command ${command.commandId}: ${before.kind} of ${before.slug}`)
    },
    find: async (commandId) => records.get(commandId),
    isDamaged,
    append: async (commandId, entry) => {
      const record = known(commandId)
      return save({ ...record, entries: [...record.entries, { at: isoNow(clock), ...entry }] })
    },
    close: async (commandId, result) => {
      const record = known(commandId)
      if (record.closed) return
      const closed = { ...record, closed: { at: isoNow(clock), result, acknowledgedAt: null } }
      await save(closed).catch((error) => {
        unlessDiskIsFull(error)
        records.set(commandId, closed)
      })
    },
    discard: async (commandId) => {
      await remove(commandId)
      records.delete(commandId)
    },
    all: async () => all(),
    open: async () => all().filter(({ closed }) => !closed),
    unacknowledged: async () => all().filter(({ closed }) => closed && !closed.acknowledgedAt),
    acknowledge: async (commandId) => {
      const record = records.get(commandId)
      if (!record?.closed) return
      const acknowledged = { ...record, closed: { ...record.closed, acknowledgedAt: isoNow(clock) } }
      await save(acknowledged).catch(async (error) => {
        unlessDiskIsFull(error)
        await remove(commandId)
        records.set(commandId, acknowledged)
      })
    },
  }
}

function unlessDiskIsFull(error: unknown): void {
  if (!isFullDisk(error)) throw error
}

async function readAll(store: FileStore, onDamaged?: (path: string) => void): Promise<Map<string, CommandRecord>> {
  const records = new Map<string, CommandRecord>()
  for (const name of await store.names()) {
    const record = readRecord(await store.read(name))
    if (record) {
      records.set(record.commandId, record)
      continue
    }
    const path = await store.setAside(name)
    onDamaged?.(path)
  }
  return records
}

const damagedRecord = ({ commandId, slug }: NewCommand) =>
  problem(
    'INTERNAL',
    `the journal of ${commandId} is damaged and was set aside, so its progress is unknown. fix: check the fence and containers of the box ${slug}, then plan again`,
  )

/** Milliseconds since the command began, over restarts of the agent. */
export type Stopwatch = () => number

/**
 * Runs on the monotonic clock. The time without an agent is read from the wall clock: a clock that was set back adds nothing, one that was
 * set forward ends the command early, which is the safe side.
 */
export function stopwatch(clock: Clock, { begunAt, entries }: CommandRecord): Stopwatch {
  const last = entries.at(-1) ?? { at: begunAt, elapsedMs: 0 }
  const away = Math.max(0, clock.now().getTime() - Date.parse(last.at))
  const start = clock.monotonicMs()
  return () => last.elapsedMs + away + clock.monotonicMs() - start
}
