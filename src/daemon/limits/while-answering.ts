import { type Clock, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'
import { pendingCalls } from './pending-calls.ts'

type Deps = Readonly<{
  clock: Clock
  log: Logger
  /** What does not answer within this counts as away. */
  deadlineMs: number
  /** Does what real calls do, harmlessly; rejects where they would. */
  probe(): Promise<unknown>
  /** Makes the connection anew: the one there is may hang for good. */
  reconnect(): void
}>

/** Calls to another program, which may be away: then they fail at once, until it answers again. */
export type Answering = Readonly<{
  ask<Result>(call: () => Promise<Result>): Promise<Result>
  isUp(): boolean
  close(): void
}>

const probeEveryMs = 500
/** So many probes in vain, and the connection is made anew. */
const patience = 10
/** At the start of the program the connection is being made. */
const [startMs, startEveryMs] = [2000, 20]

/** Each outage is told once, and its end once. Resolves when the other side answered, or did not for a while. */
export async function whileAnswering(deps: Deps): Promise<Answering> {
  const { clock, deadlineMs } = deps
  const closing = new AbortController()
  let up = await answersSoon(deps)

  const goDown = (err: unknown) => {
    if (!up || closing.signal.aborted) return
    up = false
    pending.failAll()
    beAway(err)
  }
  const beAway = (err: unknown) => {
    deps.log.warn({ err }, 'the store of request budgets does not answer: requests are let through uncounted until it does')
    void untilItAnswers(deps, closing.signal).then((isBack) => {
      up = isBack
    })
  }
  const late = () => goDown(new Error(`no answer within ${deadlineMs} ms`))
  const pending = pendingCalls({ clock, deadlineMs, closed: closing.signal, late })
  if (!up) beAway(new Error('it could not be reached at the start'))

  const ask = <Result>(call: () => Promise<Result>) =>
    new Promise<Result>((resolve, reject) => {
      if (!up) return reject(away())
      const one = pending.add(() => reject(away()))
      call().then(
        (result) => {
          pending.settle(one)
          resolve(result)
        },
        (error) => {
          if (!pending.settle(one)) return
          goDown(error)
          reject(away())
        },
      )
    })
  return { ask, isUp: () => up, close: () => closing.abort() }
}

const away = () => problem('UNAVAILABLE', 'the store of request budgets does not answer: look at TENANTRY_REDIS and the server behind it')

/** One probe, within the deadline. */
async function answers({ clock, deadlineMs, probe }: Deps): Promise<boolean> {
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

async function answersSoon(deps: Deps): Promise<boolean> {
  const untilMs = deps.clock.monotonicMs() + startMs
  while (deps.clock.monotonicMs() < untilMs) {
    if (await answers(deps)) return true
    await deps.clock.sleep(startEveryMs)
  }
  return false
}

/** True once it answers, false when nobody asks any more. */
async function untilItAnswers(deps: Deps, closed: AbortSignal): Promise<boolean> {
  for (let failed = 1; !closed.aborted; failed++) {
    await deps.clock.sleep(probeEveryMs, closed)
    if (closed.aborted) return false
    if (await answers(deps)) {
      deps.log.info('the store of request budgets answers again: requests are counted')
      return true
    }
    if (failed % patience === 0 && !closed.aborted) deps.reconnect()
  }
  return false
}
