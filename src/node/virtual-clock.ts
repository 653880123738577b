import type { Clock } from '../core/kit/index.ts'

/** A clock that moves only when it is told to, to the moment for which somebody waits: days pass as fast as they can be computed. */
export type VirtualClock = Clock &
  Readonly<{
    /** When the next sleeper wakes, on the monotonic clock; undefined while nobody sleeps. */
    nextDueMs(): number | undefined
    /** Moves on to that time and wakes all who are due by then, in the order of their time, then of their going to sleep. Never goes back. */
    advanceTo(ms: number): void
  }>

type Sleeper = Readonly<{ dueMs: number; wake(): void }>

export function virtualClock(startIso: string): VirtualClock {
  const startMs = Date.parse(startIso)
  const sleepers = new Set<Sleeper>()
  let nowMs = 0
  return {
    now: () => new Date(startMs + nowMs),
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted || ms <= 0) return resolve()
        const wake = () => {
          sleepers.delete(sleeper)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const sleeper: Sleeper = { dueMs: nowMs + ms, wake }
        sleepers.add(sleeper)
        signal?.addEventListener('abort', wake, { once: true })
      }),
    nextDueMs: () => (sleepers.size === 0 ? undefined : Math.min(...[...sleepers].map(({ dueMs }) => dueMs))),
    advanceTo: (ms) => {
      nowMs = Math.max(nowMs, ms)
      const due = [...sleepers].filter(({ dueMs }) => dueMs <= nowMs)
      for (const sleeper of due.sort((a, b) => a.dueMs - b.dueMs)) sleeper.wake()
    },
  }
}
