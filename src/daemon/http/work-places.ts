import type { Bound, Cost } from '../../core/contract/index.ts'
import { type Actor, actorLabel, type Clock, problem } from '../../core/kit/index.ts'
import { networkKey, type Slot } from '../../core/limits/index.ts'
import { addressSlots } from './address-limit.ts'

/** `name`: one caller. `tenant`: callers that share; waiting calls of tenants are served in rotation. */
export type Caller = Readonly<{ name: string; tenant: string }>

/** One client may have all addresses of such a network. */
const network = { v4: 24, v6: 48 }

/** A user shares with the tenant, an API token with its account, and an anonymous client with its network. */
export function callerOf(actor: Actor | undefined, address: string): Caller {
  const alone = (name: string) => ({ name, tenant: name })
  if (!actor) return { name: networkKey(address), tenant: networkKey(address, network) }
  if ('tenantId' in actor) {
    const { tenantId } = actor as Readonly<{ tenantId: string }>
    return { name: 'userId' in actor ? `${tenantId} ${actor.userId}` : tenantId, tenant: tenantId }
  }
  if ('accountId' in actor) return alone(actor.accountId)
  return alone(actorLabel(actor))
}

type Waiting = Readonly<{ caller: Caller; begin: () => void; refuse: () => void }>

/** Places for the work of calls, by class of cost. */
export type WorkPlaces<Name extends string = Cost> = Readonly<{
  /**
   * Waits for a place and returns the function that frees it. Throws RATE_LIMITED for a caller that has its share, UNAVAILABLE if the queue is full or no
   * place was free in time, and what `signal` aborts with.
   */
  enter(name: Name, caller: Caller, signal?: () => AbortSignal): Promise<() => void> | (() => void)
}>

type Deps = Readonly<{ clock: Clock }>

export function workPlaces<Name extends string>({ clock }: Deps, bounds: Readonly<Record<Name, Bound>>): WorkPlaces<Name> {
  const rooms = new Map(Object.entries<Bound>(bounds).map(([name, bound]) => [name, new Room(clock, bound)]))
  return {
    enter: (name, caller, signal) => {
      const room = rooms.get(name) as Room
      return room.enter(caller, signal)
    },
  }
}

/** The places of one class, and the calls that wait for them. */
class Room {
  readonly #clock: Clock
  readonly #bound: Bound
  /** Calls by caller, running and waiting. */
  readonly #callers = new Map<string, number>()
  readonly #running = new Map<string, number>()
  /** In the order in which tenants are served. */
  readonly #queues = new Map<string, Set<Waiting>>()
  readonly #slotOf: ((caller: string) => Slot) | undefined
  #busy = 0
  #waiting = 0

  constructor(clock: Clock, bound: Bound) {
    this.#clock = clock
    this.#bound = bound
    const { perMinute } = bound
    this.#slotOf = perMinute === undefined ? undefined : addressSlots(clock, { perSecond: perMinute / 60, atOnce: perMinute, buffered: 0 })
  }

  enter(caller: Caller, signal?: () => AbortSignal): Promise<() => void> | (() => void) {
    const { perCaller, parallel, work } = this.#bound
    if ((this.#callers.get(caller.name) ?? 0) >= perCaller) {
      const message = `You have ${perCaller} open calls of this kind already (each ${work}). Retry when one has ended.`
      throw problem('RATE_LIMITED', message, { retryAfterSeconds: 1 })
    }
    const slot = this.#slotOf?.(caller.name)
    if (slot && !('slotMs' in slot))
      throw problem('RATE_LIMITED', `Too many calls in a minute; each ${work}. Retry in ${slot.retryAfterSeconds} s.`, slot)
    if (parallel === undefined || this.#hasPlace(caller)) return this.#begin(caller)
    this.#makeRoom(caller)
    return this.#wait(caller, signal?.())
  }

  /** A tenant takes no more than it leaves free, so that many tenants are needed to take all places. */
  #hasPlace({ tenant }: Caller): boolean {
    const { parallel = 0, perTenant } = this.#bound
    const [running, free] = [this.#running.get(tenant) ?? 0, parallel - this.#busy]
    return free > 0 && (perTenant === undefined || running < Math.min(perTenant, free))
  }

  #begin(caller: Caller): () => void {
    const { parallel, restMs } = this.#bound
    add(this.#callers, caller.name, 1)
    if (parallel === undefined) return once(() => add(this.#callers, caller.name, -1))
    add(this.#running, caller.tenant, 1)
    this.#busy += 1
    const free = () => {
      add(this.#running, caller.tenant, -1)
      this.#busy -= 1
      this.#next()
    }
    return once(() => {
      add(this.#callers, caller.name, -1)
      // Real time: it bounds how much of the thread this work takes.
      if (restMs === undefined) free()
      else setTimeout(free, restMs).unref()
    })
  }

  /** A full queue refuses the tenant with the most waiting calls, so that no tenant keeps others out. */
  #makeRoom(caller: Caller): void {
    if (this.#waiting < (this.#bound.waiting ?? 0)) return
    let longest: Set<Waiting> | undefined
    for (const queue of this.#queues.values()) if (queue.size > (longest?.size ?? 0)) longest = queue
    const own = this.#queues.get(caller.tenant)?.size ?? 0
    if (!longest || longest.size <= own + 1) throw this.#full()
    const last = [...longest].at(-1)
    last?.refuse()
  }

  #full = () => problem('UNAVAILABLE', `Too many calls wait already; each ${this.#bound.work}. Retry in 5 s.`, { retryAfterSeconds: 5 })

  #late = (seconds: number) =>
    problem('UNAVAILABLE', `No place was free within ${seconds} s; each call ${this.#bound.work}. Retry in 5 s.`, { retryAfterSeconds: 5 })

  #wait(caller: Caller, signal?: AbortSignal): Promise<() => void> {
    const { maxWaitSeconds = 10 } = this.#bound
    const settled = new AbortController()
    const queue = this.#queues.get(caller.tenant) ?? new Set()
    this.#queues.set(caller.tenant, queue)
    this.#waiting += 1
    add(this.#callers, caller.name, 1)
    return new Promise((begun, refused) => {
      const leave = () => {
        if (!queue.delete(one)) return false
        this.#waiting -= 1
        add(this.#callers, caller.name, -1)
        if (queue.size === 0 && this.#queues.get(caller.tenant) === queue) this.#queues.delete(caller.tenant)
        settled.abort()
        return true
      }
      const refuse = () => void (leave() && refused(this.#full()))
      const one: Waiting = { caller, begin: () => void (leave() && begun(this.#begin(caller))), refuse }
      queue.add(one)
      if (signal?.aborted) return refuse()
      signal?.addEventListener('abort', refuse, { signal: settled.signal })
      void this.#clock.sleep(maxWaitSeconds * 1000, settled.signal).then(() => leave() && refused(this.#late(maxWaitSeconds)))
    })
  }

  /** Gives free places to waiting calls: one of each tenant, in rotation. */
  #next(): void {
    for (const [tenant, queue] of this.#queues) {
      const [first] = queue
      if (!first || !this.#hasPlace(first.caller)) continue
      this.#queues.delete(tenant)
      if (queue.size > 1) this.#queues.set(tenant, queue)
      first.begin()
      return void this.#next()
    }
  }
}

function add(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function once(free: () => void): () => void {
  let isFree = false
  return () => {
    if (isFree) return
    isFree = true
    free()
  }
}
