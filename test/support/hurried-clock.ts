import type { Clock } from '../../src/core/kit/index.ts'
import { systemClock } from '../../src/node/index.ts'

/**
 * The machine's clock for daemons with many requests from one address: limits see time pass a thousand times faster, and
 * waits for a missing chat server are short.
 */
export const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms > 500 && ms <= 5000 ? ms / 100 : ms, signal),
  monotonicMs: () => systemClock.monotonicMs() * 1000,
}
