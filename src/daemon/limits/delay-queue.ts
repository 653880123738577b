import type { Clock } from '../../core/kit/index.ts'

/** Maximum number of delayed requests: in all, and per tenant or address. */
export type QueueSize = Readonly<{ inAll: number; forOne: number }>

export type DelayQueue = Readonly<{
  /** Resolves after `ms`, when `left` aborts, or when the daemon drains. Undefined if the queue is full. */
  hold(key: string, ms: number, left: AbortController): Promise<void> | undefined
  held(): number
}>

type Deps = Readonly<{ clock: Clock; draining: AbortSignal }>

/** Delays requests with one timer each. When the daemon drains, all continue at once. */
export function delayQueue({ clock, draining }: Deps, { inAll, forOne }: QueueSize): DelayQueue {
  const delayed = new Set<AbortController>()
  const counts = new Map<string, number>()
  draining.addEventListener('abort', () => {
    for (const one of delayed) one.abort()
  })

  const leave = (key: string, one: AbortController) => {
    delayed.delete(one)
    const count = (counts.get(key) ?? 1) - 1
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
  return {
    hold: (key, ms, left) => {
      const count = counts.get(key) ?? 0
      if (delayed.size >= inAll || count >= forOne) return undefined
      delayed.add(left)
      counts.set(key, count + 1)
      return (draining.aborted ? Promise.resolve() : clock.sleep(ms, left.signal)).finally(() => leave(key, left))
    },
    held: () => delayed.size,
  }
}
