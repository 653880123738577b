import { type Clock, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'

type Deps = Readonly<{
  clock: Clock
  log: Logger
  /** A call without an answer in this time opens the circuit. */
  deadlineMs: number
  /** Performs the same operations as real calls, without effect; rejects if they would fail. */
  probe(): Promise<unknown>
  /** Replaces the connection, which may hang. */
  reconnect(): void
}>

/** Calls to a server. While it is down they fail at once. */
type CircuitBreaker = Readonly<{
  ask<Result>(call: () => Promise<Result>): Promise<Result>
  isUp(): boolean
  close(): void
}>

const probeEveryMs = 500
/** Failed probes until the connection is replaced. */
const reconnectAfter = 10
/** At startup the connection may take a moment. */
const [startMs, startEveryMs] = [2000, 20]

/** Logs the start and end of each outage. Resolves when the server has answered, or after 2 s. */
export async function circuitBreaker(deps: Deps): Promise<CircuitBreaker> {
  const { clock, deadlineMs } = deps
  const closing = new AbortController()
  let up = await answersAtStart(deps)

  const goDown = (err: unknown) => {
    if (!up || closing.signal.aborted) return
    up = false
    pending.failAll()
    beAway(err)
  }
  const beAway = (err: unknown) => {
    deps.log.warn({ err }, 'store of request budgets is unavailable; requests are not counted')
    void untilItAnswers(deps, closing.signal).then((isBack) => {
      up = isBack
    })
  }
  const late = () => goDown(new Error(`no answer within ${deadlineMs} ms`))
  const pending = pendingCalls({ clock, deadlineMs, closed: closing.signal, late })
  if (!up) beAway(new Error('not reachable at startup'))

  const ask = <Result>(call: () => Promise<Result>) =>
    new Promise<Result>((resolve, reject) => {
      if (!up) return reject(away())
      const one = pending.add(() => reject(away()))
      call().then(
        (result) => {
          pending.finish(one)
          resolve(result)
        },
        (error) => {
          if (!pending.finish(one)) return
          goDown(error)
          reject(away())
        },
      )
    })
  return { ask, isUp: () => up, close: () => closing.abort() }
}

const away = () => problem('UNAVAILABLE', 'The store of request budgets does not answer. fix: check TENANTRY_REDIS and the Redis server')

/** Runs one probe within the deadline. */
async function probeAnswers({ clock, deadlineMs, probe }: Deps): Promise<boolean> {
  const settled = new AbortController()
  const late = clock.sleep(deadlineMs, settled.signal).then(() => false)
  const asked = probe().then(
    () => true,
    () => false,
  )
  const isAnswered = await Promise.race([asked, late])
  settled.abort()
  return isAnswered
}

async function answersAtStart(deps: Deps): Promise<boolean> {
  const untilMs = deps.clock.monotonicMs() + startMs
  while (deps.clock.monotonicMs() < untilMs) {
    if (await probeAnswers(deps)) return true
    await deps.clock.sleep(startEveryMs)
  }
  return false
}

/** True once the server answers, false if closed. */
async function untilItAnswers(deps: Deps, closed: AbortSignal): Promise<boolean> {
  for (let failed = 1; !closed.aborted; failed++) {
    await deps.clock.sleep(probeEveryMs, closed)
    if (closed.aborted) return false
    if (await probeAnswers(deps)) {
      deps.log.info('store of request budgets is available again; requests are counted')
      return true
    }
    if (failed % reconnectAfter === 0 && !closed.aborted) deps.reconnect()
  }
  return false
}

type PendingDeps = Readonly<{ clock: Clock; deadlineMs: number; closed: AbortSignal; late: () => void }>

/** One unanswered call. */
type Pending = Readonly<{ sinceMs: number; fail: () => void }>

/** Unanswered calls, oldest first. */
type PendingCalls = Readonly<{
  add(fail: () => void): Pending
  /** Removes an answered call. False if it had failed before. */
  finish(one: Pending): boolean
  failAll(): void
}>

/** A response may be unread in the socket while this process was busy. */
const graceMs = 20

/** Watches the deadline of all calls with one timer, for the oldest call. */
function pendingCalls({ clock, deadlineMs, closed, late }: PendingDeps): PendingCalls {
  const pending = new Set<Pending>()
  let isWatching = false
  const watch = async () => {
    isWatching = true
    for (let [oldest] = pending; oldest && !closed.aborted; [oldest] = pending) {
      const leftMs = oldest.sinceMs + deadlineMs - clock.monotonicMs()
      await clock.sleep(Math.max(leftMs, graceMs), closed)
      if (leftMs <= 0 && pending.has(oldest) && !closed.aborted) late()
    }
    isWatching = false
  }
  return {
    add: (fail) => {
      const one = { sinceMs: clock.monotonicMs(), fail }
      pending.add(one)
      if (!isWatching) void watch()
      return one
    },
    finish: (one) => pending.delete(one),
    failAll: () => {
      for (const { fail } of pending) fail()
      pending.clear()
    },
  }
}
