import type { Clock } from '../../core/kit/index.ts'

/** Waits for changes of rollouts. A change between two waits is not missed: the next wait then returns at once. */
export type Watcher = Readonly<{
  notify(): void
  /** Until a change, until `ms` are over, or until the signal aborts. */
  wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void>
  close(): void
}>

/**
 * Notifies the engine and the event streams of this process after a commit. It carries no data: watchers read the database, and poll it
 * for changes by other replicas.
 */
export type RolloutBus = Readonly<{
  changed(rolloutId: string): void
  /** Watches one rollout, or all of them. */
  watch(rolloutId?: string): Watcher
}>

export function makeRolloutBus(): RolloutBus {
  const watchers = new Map<Watcher, string | undefined>()
  return {
    changed: (rolloutId) => {
      for (const [watcher, watched] of watchers) if (watched === undefined || watched === rolloutId) watcher.notify()
    },
    watch: (rolloutId) => {
      const watcher = makeWatcher(() => watchers.delete(watcher))
      watchers.set(watcher, rolloutId)
      return watcher
    },
  }
}

function makeWatcher(close: () => void): Watcher {
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
  return { notify, wait, close }
}
