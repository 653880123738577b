/** `full`: so many wait that one more would wait in vain. `left`: whoever asked does not wait any longer. */
type Entry = 'in' | 'left' | 'full'

/** A share of the connections to each chat server. Whoever is in has to leave. */
export type Places = Readonly<{ enter(origin: string, signal: AbortSignal): Promise<Entry>; leave(origin: string): void }>

type Side = { busy: number; readonly waiting: Set<(entry: Entry) => void> }

/** `atOnce` are in, at most `waiting` wait in the order they came; one that stops waiting makes room at once. */
export function placesOf({ atOnce, waiting: mostWaiting }: Readonly<{ atOnce: number; waiting: number }>): Places {
  const sides = new Map<string, Side>()
  const sideOf = (origin: string): Side => {
    const side = sides.get(origin) ?? { busy: 0, waiting: new Set() }
    sides.set(origin, side)
    return side
  }

  const wait = ({ waiting }: Side, signal: AbortSignal) =>
    new Promise<Entry>((resolve) => {
      const end = (entry: Entry) => {
        waiting.delete(end)
        signal.removeEventListener('abort', left)
        resolve(entry)
      }
      const left = () => end('left')
      signal.addEventListener('abort', left)
      waiting.add(end)
    })

  return {
    enter: async (origin, signal) => {
      if (signal.aborted) return 'left'
      const side = sideOf(origin)
      if (side.busy < atOnce) {
        side.busy += 1
        return 'in'
      }
      return side.waiting.size >= mostWaiting ? 'full' : wait(side, signal)
    },
    leave: (origin) => {
      const side = sideOf(origin)
      const [next] = side.waiting
      if (next) return next('in') // the place goes from hand to hand
      side.busy -= 1
      if (side.busy === 0) sides.delete(origin)
    },
  }
}
