const freeBytes = 262_144
const bytesPerMs = 4_000

/**
 * How fast large calls of one run may pass, in each direction. A megabyte costs the thread of the daemon 5 ms, and a module that sends as much as
 * it can would slow the requests of everybody.
 */
export class Pace {
  private readonly startedMs = performance.now()
  private bytes = 0

  /** Returns how many milliseconds the next bytes must wait. */
  add(bytes: number): number {
    this.bytes += bytes
    return Math.max(0, this.startedMs + (this.bytes - freeBytes) / bytesPerMs - performance.now())
  }
}

const asleep = new Int32Array(new SharedArrayBuffer(4))

/** Blocks this thread. */
export const block = (ms: number): void => void Atomics.wait(asleep, 0, 0, ms)
