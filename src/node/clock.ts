import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../core/kit/index.ts'

/** What a timer can hold: Node ends a longer one at once. */
const longestMs = 2 ** 31 - 1

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => delay(Math.min(ms, longestMs), undefined, signal ? { signal } : {}).catch(() => undefined),
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
