import type { Clock } from '../../core/kit/index.ts'

type Waiting = Readonly<{ clock: Clock; everyMs: number; timeoutMs: number; signal: AbortSignal }>

/** Asks until the answer is yes; false when the time is over. An abort throws. */
export async function waitUntil({ clock, everyMs, timeoutMs, signal }: Waiting, isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = clock.monotonicMs() + timeoutMs
  for (;;) {
    signal.throwIfAborted()
    if (await isSo()) return true
    if (clock.monotonicMs() >= deadline) return false
    await clock.sleep(everyMs, signal)
  }
}
