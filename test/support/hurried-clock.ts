import type { Clock } from '../../src/core/kit/index.ts'
import { systemClock } from '../../src/node/index.ts'

/**
 * The machine's clock for daemons with many requests from one address: limits see time pass a thousand times faster, and refusals, which are
 * held back for up to a second, take moments. Loops of the daemon sleep for whole seconds and are not hurried: a hundred rounds a second cost
 * more than all requests.
 */
export const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms > 500 && ms < 1000 ? ms / 100 : ms, signal),
  monotonicMs: () => systemClock.monotonicMs() * 1000,
}

/** Moves until it is stopped: an agent's token is valid for a minute, and tests of many requests take longer on a busy machine. */
export function stoppableClock(): Clock & Readonly<{ stop(): void }> {
  let stoppedAt: Date | undefined
  const stop = () => {
    stoppedAt = systemClock.now()
  }
  return { ...hurriedClock, now: () => stoppedAt ?? systemClock.now(), stop }
}
