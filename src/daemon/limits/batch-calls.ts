import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

type Pending<Input, Result> = Readonly<{ input: Input; resolve(result: Result): void; reject(error: unknown): void }>

/**
 * Batches calls: a call without a running batch starts at once; during a batch, the calls of one turn of the event loop share the next one, at
 * most `maxSize`, in order of arrival. A failed batch fails for all its calls.
 */
export function batchCalls<Input, Result>(
  maxSize: number,
  runBatch: (inputs: readonly Input[]) => Promise<readonly Result[]>,
): (input: Input) => Promise<Result> {
  let waiting: Pending<Input, Result>[] = []
  let running = 0
  const run = async (batch: readonly Pending<Input, Result>[]) => {
    running++
    try {
      const results = await runBatch(batch.map(({ input }) => input))
      for (const [n, one] of batch.entries()) one.resolve(results[n] as Result)
    } catch (error) {
      for (const one of batch) one.reject(error)
    } finally {
      running--
    }
  }
  const runAll = () => {
    const all = waiting
    waiting = []
    for (let from = 0; from < all.length; from += maxSize) void run(all.slice(from, from + maxSize))
  }
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (running === 0) runAll()
      else if (waiting.length === 1) void yieldToEventLoop().then(runAll)
    })
}
