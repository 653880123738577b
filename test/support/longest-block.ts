import { readFileSync } from 'node:fs'

/** CPU time of this thread in ms: other programs on the machine do not count. */
const cpuMs = () => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6

/** How long `work` kept the thread at most, between two turns of the event loop, in ms of a processor. */
export async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let [isOver, longest, last] = [false, 0, cpuMs()]
  const measure = () => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(measure)
  }
  setImmediate(measure)
  await new Promise(setImmediate)
  await work()
  isOver = true
  measure()
  return longest
}

/** The least of up to five runs, until one is below the limit: the garbage collector, which may pause any of them, is not the work. */
export async function leastBlock(limitMs: number, work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < 5 && least >= limitMs; run++) least = Math.min(least, await longestBlock(work))
  return least
}
