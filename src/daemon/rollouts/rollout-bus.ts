import type { Clock } from '../../core/kit/index.ts'

/** Somebody who waits. What happened between two waits is not missed: the next wait then returns at once. */
export type Watcher = Readonly<{
  wake(): void
  /** Ends a wait as well; whoever waits knows by itself why. */
  stir(): void
  /** Until something happened, `ms` are over, or the signal aborts. Answers whether it was woken. */
  wait(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean>
  close(): void
}>

/**
 * Wakes the engine and the event streams of this process at once, after a commit. It carries no data: whoever is woken reads the database,
 * and looks by itself now and then for what other replicas did.
 */
export type RolloutBus = Readonly<{
  /** `by` has seen it already and is not woken. */
  changed(rolloutId: string, by?: Watcher): void
  /** One rollout, or all of them. */
  watch(rolloutId?: string): Watcher
}>

export function makeRolloutBus(): RolloutBus {
  const watchers = new Map<Watcher, string | undefined>()
  return {
    changed: (rolloutId, by) => {
      for (const [watcher, wanted] of watchers) if (watcher !== by && (wanted === undefined || wanted === rolloutId)) watcher.wake()
    },
    watch: (rolloutId) => {
      const watcher = makeWatcher(() => watchers.delete(watcher))
      watchers.set(watcher, rolloutId)
      return watcher
    },
  }
}

function makeWatcher(close: () => void): Watcher {
  let [woken, stirred] = [false, false]
  let stop: () => void = () => undefined
  const wake = () => {
    woken = true
    stop()
  }
  const stir = () => {
    stirred = true
    stop()
  }
  const wait = async (clock: Clock, ms: number, signal: AbortSignal) => {
    if (!woken && !stirred && !signal.aborted) {
      const timer = new AbortController()
      stop = () => timer.abort('woken') // without a reason Node.js makes an exception, with a stack that nobody reads
      signal.addEventListener('abort', stop)
      await clock.sleep(ms, timer.signal)
      signal.removeEventListener('abort', stop)
    }
    const answer = woken
    woken = stirred = false
    return answer
  }
  return { wake, stir, wait, close }
}
