import type { Clock } from './clock.ts'

type Sleeper = { due: number; wake: () => void }

/** A clock that only moves by `advance`: tests and rehearsals run hours in milliseconds. */
export type ManualClock = Clock & Readonly<{ advance(ms: number): Promise<void>; sleepers(): number }>

export function manualClock(startIso = '2026-01-05T02:00:00.000Z'): ManualClock {
  const start = Date.parse(startIso)
  let elapsed = 0
  let sleeping: Sleeper[] = []

  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve()
      const aborted = () => {
        sleeping = sleeping.filter((other) => other !== sleeper)
        resolve()
      }
      const wake = () => {
        signal?.removeEventListener('abort', aborted)
        resolve()
      }
      const sleeper: Sleeper = { due: elapsed + ms, wake }
      sleeping.push(sleeper)
      signal?.addEventListener('abort', aborted, { once: true })
    })

  // Sleepers wake in order of their due time, and what they do before sleeping again is let run between two of them.
  const advance = async (ms: number) => {
    const until = elapsed + ms
    for (;;) {
      await settle()
      const next = sleeping.filter((sleeper) => sleeper.due <= until).sort((a, b) => a.due - b.due)[0]
      if (!next) break
      elapsed = Math.max(elapsed, next.due)
      sleeping = sleeping.filter((other) => other !== next)
      next.wake()
    }
    elapsed = until
    await settle()
  }

  return { now: () => new Date(start + elapsed), monotonicMs: () => elapsed, sleep, advance, sleepers: () => sleeping.length }
}

// Lets promise chains of some depth run; virtual time itself never waits on real time.
const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
