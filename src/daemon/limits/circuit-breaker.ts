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
  const closing = new AbortController()
  let up = await answersAtStart(deps)

  const goDown = (err: unknown) => {
    if (!up || closing.signal.aborted) return
    up = false
    beAway(err)
  }
  const beAway = (err: unknown) => {
    deps.log.warn({ err }, 'store of request budgets is unavailable; requests are not counted')
    void untilItAnswers(deps, closing.signal).then((isBack) => {
      up = isBack
    })
  }
  if (!up) beAway(new Error('not reachable at startup'))

  const ask = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    if (!up) throw away()
    return withinDeadline(deps, call).catch((error) => {
      goDown(error)
      throw away()
    })
  }
  return { ask, isUp: () => up, close: () => closing.abort() }
}

const away = () => problem('UNAVAILABLE', 'The store of request budgets does not answer. fix: check TENANTRY_REDIS and the Redis server')

/** A response may be unread in the socket while this process was busy. */
const graceMs = 20

async function withinDeadline<Result>({ clock, deadlineMs }: Deps, call: () => Promise<Result>): Promise<Result> {
  const answered = new AbortController()
  const late = clock
    .sleep(deadlineMs, answered.signal)
    .then(() => clock.sleep(graceMs, answered.signal))
    .then(() => 'late' as const)
  const result = await Promise.race([call().then((value) => ({ value })), late]).finally(() => answered.abort())
  if (result === 'late') throw new Error(`no answer within ${deadlineMs} ms`)
  return result.value
}

const probeAnswers = (deps: Deps): Promise<boolean> =>
  withinDeadline(deps, deps.probe).then(
    () => true,
    () => false,
  )

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
