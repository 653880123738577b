import type { Clock } from './clock.ts'

/** Waits for changes. A change between two waits is not missed: the next wait then returns at once. */
export type Watcher = Readonly<{
  notify(): void
  /** Until a change, until `ms` are over, or until the signal aborts. */
  wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void>
}>

export function makeWatcher(): Watcher {
  let isNotified = false
  let endWait: () => void = () => undefined
  const notify = () => {
    isNotified = true
    endWait()
  }
  const wait = async (clock: Clock, ms: number, signal: AbortSignal) => {
    if (!isNotified && !signal.aborted) {
      const timer = new AbortController()
      endWait = () => timer.abort('notified') // without a reason Node.js builds an exception with a stack
      signal.addEventListener('abort', endWait)
      await clock.sleep(ms, timer.signal)
      signal.removeEventListener('abort', endWait)
    }
    isNotified = false
  }
  return { notify, wait }
}
