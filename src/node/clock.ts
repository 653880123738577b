import { performance } from 'node:perf_hooks'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../core/kit/index.ts'

/** Maximum delay of a Node timer; longer ones fire at once. */
const maxSleepMs = 2 ** 31 - 1

/** The system clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => new Promise((resolve) => sleepUntil(resolve, Math.min(ms, maxSleepMs), signal)),
}

/** Node's timer promises create an error with a stack trace for each abort, and most sleeps here are aborted. */
function sleepUntil(resolve: () => void, ms: number, signal: AbortSignal | undefined): void {
  if (signal?.aborted) return void resolve()
  const end = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    resolve()
  }
  const timer = setTimeout(end, ms)
  signal?.addEventListener('abort', end, { once: true })
}

/** A clock that moves only with `advanceTo`, so that simulated days pass at computing speed. */
export type VirtualClock = Clock &
  Readonly<{
    /** Monotonic time of the next wake-up; undefined without sleepers. */
    nextDueMs(): number | undefined
    /** Advances to that time and wakes due sleepers, ordered by due time, then by start of sleep. Never moves backwards. */
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
        // Whole milliseconds, as real timers have: a remainder of 1e-12 ms is lost in the sum, and a loop until it has passed never ends.
        const sleeper: Sleeper = { dueMs: nowMs + Math.ceil(ms), wake }
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

/** Node's names of pending file operations. */
const isDisk = (resource: string): boolean => /^(FSReq|CloseReq|FileHandle)/.test(resource)

/** Required in a row, because a new operation may start in the first idle turn. */
const quietTurns = 2

/** After that many busy turns it sleeps 1 ms between checks. */
const busyTurns = 20

/** Resolves when no file operation is pending in this thread; then everything waits for the clock, and a virtual clock may advance. */
export async function yieldUntilIdle(): Promise<void> {
  for (let quiet = 0, busy = 0; quiet < quietTurns; ) {
    await (busy > busyTurns ? pause(1) : turn())
    const isBusy = process.getActiveResourcesInfo().some(isDisk)
    quiet = isBusy ? 0 : quiet + 1
    busy = isBusy ? busy + 1 : 0
  }
}
