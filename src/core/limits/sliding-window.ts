/** Requests count for this long: the second they come in and the 59 after it (spec 8). */
export const windowSeconds = 60

/**
 * Accepted requests of one tenant, a bucket for each second of the window. It is written in place: a decision must cost next to nothing.
 * Seconds are whole and of any origin; they never go back (the caller's clock sees to that).
 */
export type SlidingWindow = {
  /** The newest second that was looked at. */
  head: number
  /** Sum of all buckets. */
  total: number
  readonly counts: Uint32Array
}

export const emptyWindow = (second: number): SlidingWindow => ({ head: second, total: 0, counts: new Uint32Array(windowSeconds) })

const bucketOf = (second: number): number => second % windowSeconds

/** Forgets what has left the window by now. */
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

/** What became of one request: counted as the one after `used` others, or refused and not counted. */
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

/** Takes one request back that was counted and is not served after all: of the newest second that has any. */
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

/** When so much has left the window that one more fits; 1 to 60. */
function secondsUntilFree({ head, total, counts }: SlidingWindow, budget: number): number {
  let left = total
  for (let age = windowSeconds - 1; age >= 0; age--) {
    left -= counts[bucketOf(head - age + windowSeconds)] as number
    if (left < budget) return windowSeconds - age
  }
  return windowSeconds
}
