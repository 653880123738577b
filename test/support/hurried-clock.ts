import type { Clock } from '../../src/core/kit/index.ts'
import { systemClock } from '../../src/node/index.ts'

/**
 * The machine's clock for daemons that are asked a great deal from one address: limits see a thousand times as much time pass, and nobody
 * waits long for a chat server that is not there.
 */
export const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms > 500 && ms <= 5000 ? ms / 100 : ms, signal),
  monotonicMs: () => systemClock.monotonicMs() * 1000,
}
