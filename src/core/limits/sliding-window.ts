/** A request counts in its own second and the 59 after it (spec 8). */
export const windowSeconds = 60

/**
 * Accepted requests of one tenant, in one bucket per second. Mutable, because every request updates it. Seconds are whole, of any origin, and
 * must not decrease.
 */
export type SlidingWindow = {
  /** The newest second of the window. */
  head: number
  /** Sum of all buckets. */
  total: number
  readonly counts: Uint32Array
}

export const emptyWindow = (second: number): SlidingWindow => ({ head: second, total: 0, counts: new Uint32Array(windowSeconds) })

const bucketOf = (second: number): number => second % windowSeconds

/** Drops the buckets that have left the window. */
export function advance(window: SlidingWindow, second: number): void {
  if (second <= window.head) return
  if (second - window.head >= windowSeconds) {
    window.counts.fill(0)
    window.total = 0
  } else {
    for (let passed = window.head + 1; passed <= second; passed++) {
      window.total -= window.counts[bucketOf(passed)] as number
      window.counts[bucketOf(passed)] = 0
    }
  }
  window.head = second
}

/** Accepted and counted after `used` others, or refused and not counted. */
export type Taken = Readonly<{ accepted: true; used: number }> | Readonly<{ accepted: false; retryAfterSeconds: number }>

/** Counts one request unless the budget is used up. */
export function take(window: SlidingWindow, second: number, budget: number): Taken {
  advance(window, second)
  const used = window.total
  if (used >= budget) return { accepted: false, retryAfterSeconds: secondsUntilFree(window, budget) }
  window.counts[bucketOf(window.head)] = (window.counts[bucketOf(window.head)] as number) + 1
  window.total++
  return { accepted: true, used }
}

/** Removes one counted request that is not served, from the newest non-empty second. */
export function giveBack(window: SlidingWindow): void {
  for (let second = window.head; second > window.head - windowSeconds && window.total > 0; second--) {
    const bucket = bucketOf(second + windowSeconds)
    const count = window.counts[bucket] as number
    if (count === 0) continue
    window.counts[bucket] = count - 1
    window.total--
    return
  }
}

/** Seconds until one more request fits; 1 to 60. */
function secondsUntilFree({ head, total, counts }: SlidingWindow, budget: number): number {
  let left = total
  for (let age = windowSeconds - 1; age >= 0; age--) {
    left -= counts[bucketOf(head - age + windowSeconds)] as number
    if (left < budget) return windowSeconds - age
  }
  return windowSeconds
}
