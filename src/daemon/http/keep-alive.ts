import type { Clock } from '../../core/kit/index.ts'

const heartbeatMs = 15_000

/** One timer for all open streams of a daemon; it runs while any is open. */
export type KeepAlive = Readonly<{ add(beat: () => void): void; remove(beat: () => void): void }>

export function makeKeepAlive(clock: Clock): KeepAlive {
  const beats = new Set<() => void>()
  let stop = new AbortController()
  const run = async ({ signal }: AbortController) => {
    for (;;) {
      await clock.sleep(heartbeatMs, signal)
      if (signal.aborted) return
      for (const beat of beats) beat()
    }
  }
  const add = (beat: () => void) => {
    beats.add(beat)
    if (beats.size > 1) return
    stop = new AbortController()
    void run(stop)
  }
  const remove = (beat: () => void) => {
    if (beats.delete(beat) && beats.size === 0) stop.abort()
  }
  return { add, remove }
}
