import { sql } from 'kysely'
import type { BoxCommandKind } from '../../core/boxes/index.ts'
import type { Clock } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import type { Db } from '../db/index.ts'

/** Waiting for one thing to happen; `cancel` when it is not waited for any more. */
export type Waiting = Readonly<{ woken: Promise<void>; cancel(): void }>

/**
 * Wakes what waits in this process: long polls of agents when a command is queued, listeners when a command changes. It carries no data,
 * whoever is woken reads the database. Beside it `runBusPoll` looks every second for what other replicas did.
 */
export type CommandBus = Readonly<{
  /** After the commit that queued a command for the host, or freed one of its boxes. */
  queued(hostId: string): void
  /** After the commit that changed a command. */
  changed(commandId: string): void
  untilQueued(hostId: string): Waiting
  /** Until the command has another revision than the one that was read. */
  untilChanged(commandId: string, revision: number): Waiting
  /** Wakes what the database says has happened elsewhere. */
  poll(db: Db): Promise<void>
}>

type Waiter = { wake: () => void; revision: number }

export function makeCommandBus(): CommandBus {
  const hosts = new Map<string, Set<Waiter>>()
  const commands = new Map<string, Set<Waiter>>()
  return {
    queued: (hostId) => wakeAll(hosts, hostId),
    changed: (commandId) => wakeAll(commands, commandId),
    untilQueued: (hostId) => wait(hosts, hostId, 0),
    untilChanged: (commandId, revision) => wait(commands, commandId, revision),
    poll: async (db) => {
      if (hosts.size > 0) for (const hostId of await hostsToWake(db, [...hosts.keys()])) wakeAll(hosts, hostId)
      for (const { id, revision } of await revisions(db, [...commands.keys()])) {
        for (const waiter of commands.get(id) ?? []) if (waiter.revision !== revision) waiter.wake()
      }
    },
  }
}

function wait(topic: Map<string, Set<Waiter>>, key: string, revision: number): Waiting {
  const waiter: Waiter = { wake: () => undefined, revision }
  const woken = new Promise<void>((resolve) => {
    waiter.wake = resolve
  })
  const others = topic.get(key) ?? new Set()
  topic.set(key, others.add(waiter))
  const cancel = () => {
    others.delete(waiter)
    if (others.size === 0 && topic.get(key) === others) topic.delete(key)
  }
  return { woken, cancel }
}

const wakeAll = (topic: Map<string, Set<Waiter>>, key: string) => {
  for (const waiter of topic.get(key) ?? []) waiter.wake()
}

/** What is asked of all boxes at once, and of which nobody waits for one answer. */
const unhurried = ['tenant-box.report_versions'] satisfies BoxCommandKind[]
/** Hosts woken per look for nothing but that; all would come at once, and whoever else calls would have to wait behind them. */
const unhurriedAtOnce = 10

/** Of those that wait: the ones with work, and the ones that were shut out and must hear of it. */
async function hostsToWake(db: Db, waiting: readonly string[]): Promise<string[]> {
  const working = await db
    .selectFrom('commands')
    .select(['host_id', sql<number>`case when kind in (${sql.join(unhurried)}) then 0 else 1 end`.as('hurried')])
    .distinct()
    .where('status', '=', 'queued')
    .orderBy('hurried')
    .execute()
  const shutOut = await db.selectFrom('hosts').select('id').where('status', '<>', 'active').execute()
  const hurried = new Map(working.map((row) => [row.host_id, Number(row.hurried) === 1])) // of two about one host the last stays
  // Those that began to wait last would ask again last.
  const others = waiting.filter((id) => hurried.get(id) === false).slice(-unhurriedAtOnce)
  return [...waiting.filter((id) => hurried.get(id)), ...others, ...shutOut.map((row) => row.id)]
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

/** Looks every second, until the signal aborts, for commands that other replicas queued or changed. */
export async function runBusPoll({ db, clock, bus, log }: { db: Db; clock: Clock; bus: CommandBus; log: Logger }, signal: AbortSignal) {
  while (!signal.aborted) {
    await bus.poll(db).catch((err) => log.warn({ err }, 'could not look for new commands'))
    await clock.sleep(1000, signal)
  }
}
