import type { Clock } from '../../core/kit/index.ts'

/** How many requests may be held at once: in all, and for one tenant or address. */
export type RoomSize = Readonly<{ inAll: number; forOne: number }>

export type WaitingRoom = Readonly<{
  /** Resolves after `ms`, or as soon as `left` aborts or the daemon drains. Undefined when there is no place: nobody waits then. */
  hold(key: string, ms: number, left: AbortController): Promise<void> | undefined
  held(): number
}>

type Deps = Readonly<{ clock: Clock; draining: AbortSignal }>

/** Where slowed-down requests wait: a timer each and nothing else. At the end of the daemon all go on at once. */
export function waitingRoom({ clock, draining }: Deps, { inAll, forOne }: RoomSize): WaitingRoom {
  const here = new Set<AbortController>()
  const counts = new Map<string, number>()
  draining.addEventListener('abort', () => {
    for (const one of here) one.abort()
  })

  const leave = (key: string, one: AbortController) => {
    here.delete(one)
    const count = (counts.get(key) ?? 1) - 1
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
  return {
    hold: (key, ms, left) => {
      const count = counts.get(key) ?? 0
      if (here.size >= inAll || count >= forOne) return undefined
      here.add(left)
      counts.set(key, count + 1)
      return (draining.aborted ? Promise.resolve() : clock.sleep(ms, left.signal)).finally(() => leave(key, left))
    },
    held: () => here.size,
  }
}
