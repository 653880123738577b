import { performance } from 'node:perf_hooks'
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
