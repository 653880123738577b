import { sql } from 'kysely'
import type { BoxCommandKind } from '../../core/boxes/index.ts'
import { isFinal } from '../../core/hosts/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'
import { type Command, commandById } from './commands.repo.ts'

/** Resolves `notified` when the awaited change happened; call `cancel` to stop waiting. */
export type Subscription = Readonly<{ notified: Promise<void>; cancel(): void }>

/**
 * Notifies waiters in this process: long polls when a command is queued, listeners when a command changes. It carries no data; waiters read
 * the database. a loop polls every second for changes by other replicas.
 */
export type CommandBus = Readonly<{
  /** Call after the commit that queued a command for the host or freed one of its boxes. */
  queued(hostId: string): void
  /** Call after the commit that changed a command. */
  changed(commandId: string): void
  untilQueued(hostId: string): Subscription
  /** Until the revision differs from the one given. */
  untilChanged(commandId: string, revision: number): Subscription
  /** Notifies waiters of changes by other replicas. */
  poll(db: Db): Promise<void>
}>

type Waiter = { wake: () => void; revision: number }

export function makeCommandBus(): CommandBus {
  const hosts = new Map<string, Set<Waiter>>()
  const commands = new Map<string, Set<Waiter>>()
  return {
    queued: (hostId) => notifyAll(hosts, hostId),
    changed: (commandId) => notifyAll(commands, commandId),
    untilQueued: (hostId) => subscribe(hosts, hostId, 0),
    untilChanged: (commandId, revision) => subscribe(commands, commandId, revision),
    poll: async (db) => {
      if (hosts.size > 0) for (const hostId of await hostsToNotify(db, [...hosts.keys()])) notifyAll(hosts, hostId)
      for (const { id, revision } of await revisions(db, [...commands.keys()])) {
        for (const waiter of commands.get(id) ?? []) if (waiter.revision !== revision) waiter.wake()
      }
    },
  }
}

function subscribe(topic: Map<string, Set<Waiter>>, key: string, revision: number): Subscription {
  const waiter: Waiter = { wake: () => undefined, revision }
  const notified = new Promise<void>((resolve) => {
    waiter.wake = resolve
  })
  const others = topic.get(key) ?? new Set()
  topic.set(key, others.add(waiter))
  const cancel = () => {
    others.delete(waiter)
    if (others.size === 0 && topic.get(key) === others) topic.delete(key)
  }
  return { notified, cancel }
}

const notifyAll = (topic: Map<string, Set<Waiter>>, key: string) => {
  for (const waiter of topic.get(key) ?? []) waiter.wake()
}

/** Commands sent to all boxes at once, whose answers are not urgent. */
const lowPriorityKinds = ['tenant-box.report_versions'] satisfies BoxCommandKind[]
/** Hosts notified per poll for low-priority work only, so that the whole fleet does not call at once. */
const maxLowPriorityHosts = 10

/** Waiting hosts with queued work, and waiting hosts that were frozen or revoked. */
async function hostsToNotify(db: Db, waiting: readonly string[]): Promise<string[]> {
  const working = await db
    .selectFrom('commands')
    .select(['host_id', sql<number>`case when kind in (${sql.join(lowPriorityKinds)}) then 0 else 1 end`.as('urgent')])
    .distinct()
    .where('status', '=', 'queued')
    .orderBy('urgent')
    .execute()
  const shutOut = await db.selectFrom('hosts').select('id').where('status', '<>', 'active').execute()
  const urgent = new Map(working.map((row) => [row.host_id, Number(row.urgent) === 1])) // the later row of a host wins
  // Hosts that started to wait last would poll again last.
  const others = waiting.filter((id) => urgent.get(id) === false).slice(-maxLowPriorityHosts)
  return [...waiting.filter((id) => urgent.get(id)), ...others, ...shutOut.map((row) => row.id)]
}

const idsPerQuery = 500

async function revisions(db: Db, ids: readonly string[]): Promise<{ id: string; revision: number }[]> {
  const found = []
  for (let from = 0; from < ids.length; from += idsPerQuery) {
    const some = ids.slice(from, from + idsPerQuery)
    found.push(...(await db.selectFrom('commands').select(['id', 'revision']).where('id', 'in', some).execute()))
  }
  return found
}

type AwaitDeps = Readonly<{ db: DbOrTx; clock: Clock; bus: CommandBus }>

/** Resolves with the command when it is final, or with its current state when the signal aborts. Throws NOT_FOUND. */
export async function awaitCommand({ db, bus }: Omit<AwaitDeps, 'clock'>, id: string, signal: AbortSignal): Promise<Command> {
  for (;;) {
    const command = await commandById(db, id)
    if (isFinal(command.status) || signal.aborted) return command
    await changeOf({ bus }, command, signal)
  }
}

/** Resolves with the command when its revision differs from `seen`, when it is final, or after `waitMs`. Throws NOT_FOUND. */
export async function awaitChange(
  { db, clock, bus }: AwaitDeps,
  { id, seen, waitMs }: { id: string; seen?: number | undefined; waitMs: number },
  signal: AbortSignal,
): Promise<Command> {
  const command = await commandById(db, id)
  const known = seen ?? command.revision
  if (waitMs === 0 || isFinal(command.status) || command.revision !== known) return command
  const ends = new AbortController()
  const either = AbortSignal.any([ends.signal, signal])
  void clock.sleep(waitMs, either).then(() => ends.abort())
  await changeOf({ bus }, command, either)
  ends.abort()
  return commandById(db, id)
}

// A change between the read and this wait is noticed by the bus poll within a second.
async function changeOf({ bus }: Pick<AwaitDeps, 'bus'>, { id, revision }: Command, signal: AbortSignal): Promise<void> {
  const change = bus.untilChanged(id, revision)
  let end = (): void => undefined
  const aborted = new Promise<void>((resolve) => {
    end = resolve
  })
  signal.addEventListener('abort', end)
  if (!signal.aborted) await Promise.race([change.notified, aborted])
  signal.removeEventListener('abort', end)
  change.cancel()
}
