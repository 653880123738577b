import { performance } from 'node:perf_hooks'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../core/kit/index.ts'

/** What a timer can hold: Node ends a longer one at once. */
const longestMs = 2 ** 31 - 1

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => new Promise((resolve) => sleepUntil(resolve, Math.min(ms, longestMs), signal)),
}

/** Node's own promise of a timer makes an exception with a stack for each one that is broken off: here, most are. */
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

/**
 * Durations that pass `factor` times as fast, for demonstrations: an hour of probes in a few seconds.
 * The wall clock stays the machine's own, so that records fit in with those of others.
 */
export const acceleratedClock = (factor: number, base: Clock = systemClock): Clock => ({
  now: base.now,
  monotonicMs: () => base.monotonicMs() * factor,
  sleep: (ms, signal) => base.sleep(ms / factor, signal),
})

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

/** What Node calls its unfinished business with the disk. */
const isDisk = (resource: string): boolean => /^(FSReq|CloseReq|FileHandle)/.test(resource)

/** In a row: a turn in which nothing waits for the disk may be the one in which somebody begins to. */
const quietTurns = 2

/** After so many the disk is slow, and looking again and again would cost more than waiting. */
const busyTurns = 20

/**
 * Resolves once nothing in this thread waits for the disk: who still waits, waits for a clock or for somebody who does. With a virtual clock
 * that is the moment at which time may pass, however fast or slow the machine is.
 */
export async function untilIdle(): Promise<void> {
  for (let quiet = 0, busy = 0; quiet < quietTurns; ) {
    await (busy > busyTurns ? pause(1) : turn())
    const isBusy = process.getActiveResourcesInfo().some(isDisk)
    quiet = isBusy ? 0 : quiet + 1
    busy = isBusy ? busy + 1 : 0
  }
}
