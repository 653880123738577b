import { type Clock, problem } from '../../core/kit/index.ts'
import type { Logger } from '../../node/index.ts'

export type AnsweringNeeds = Readonly<{
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
/** An answer may lie unread in the socket while this process was busy itself. */
const graceMs = 20
/** At the start of the program the connection is being made. */
const startMs = 2000

/** Each outage is told once, and its end once. Resolves when the other side answered, or did not for a while. */
export async function whileAnswering({ clock, log, deadlineMs, probe, reconnect }: AnsweringNeeds): Promise<Answering> {
  const pending = new Set<{ sinceMs: number; fail: (error: unknown) => void }>()
  const closing = new AbortController()
  let up = false
  let isWatching = false

  const goDown = (err: unknown) => {
    if (!up || closing.signal.aborted) return
    up = false
    for (const { fail } of pending) fail(away())
    pending.clear()
    tell(err)
    void comeBack()
  }
  const tell = (err: unknown) =>
    log.warn({ err }, 'the store of request budgets does not answer: requests are let through uncounted until it does')

  const answers = async () => {
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
  const comeBack = async () => {
    for (let failed = 1; !closing.signal.aborted; failed++) {
      await clock.sleep(probeEveryMs, closing.signal)
      if (closing.signal.aborted) return
      if (await answers()) {
        up = true
        return log.info('the store of request budgets answers again: requests are counted')
      }
      if (failed % patience === 0) reconnect()
    }
  }
  /** One timer for all that is under way: the oldest is looked at when its time is up. */
  const watch = async () => {
    isWatching = true
    for (let [oldest] = pending; oldest; [oldest] = pending) {
      const leftMs = oldest.sinceMs + deadlineMs - clock.monotonicMs()
      await clock.sleep(Math.max(leftMs, graceMs), closing.signal)
      if (closing.signal.aborted) break
      if (leftMs <= 0 && pending.has(oldest)) goDown(new Error(`no answer within ${deadlineMs} ms`))
    }
    isWatching = false
  }

  const untilMs = clock.monotonicMs() + startMs
  while (!up && clock.monotonicMs() < untilMs) {
    up = await answers()
    if (!up) await clock.sleep(graceMs)
  }
  if (!up) {
    tell(new Error('it could not be reached at the start'))
    void comeBack()
  }

  return {
    ask: (call) =>
      new Promise((resolve, reject) => {
        if (!up) return reject(away())
        const one = { sinceMs: clock.monotonicMs(), fail: reject }
        pending.add(one)
        if (!isWatching) void watch()
        call().then(
          (result) => {
            pending.delete(one)
            resolve(result)
          },
          (error) => {
            if (!pending.has(one)) return // it was given up before
            goDown(error)
            reject(away())
          },
        )
      }),
    isUp: () => up,
    close: () => closing.abort(),
  }
}

const away = () => problem('UNAVAILABLE', 'the store of request budgets does not answer: look at TENANTRY_REDIS and the server behind it')
