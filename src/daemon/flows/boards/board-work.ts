import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Steps } from '../../../core/boards/index.ts'
import type { Clock } from '../../../core/kit/index.ts'

// A check or a simulation of a board may take up to a second of CPU. One daemon serves all tenants, so they take turns with its other work. How many run at
// once is bounded by the class `simulation` of their endpoints.

const maxSliceMs = 20

const slices = pLimit(1)

/** Runs a computation in slices of 20 ms, or of one step if it takes longer. Slices of all computations and other work take turns. */
export async function inSlices<Result>({ clock }: Readonly<{ clock: Clock }>, steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const step = await slices(async () => {
      await yieldToEventLoop()
      return runSlice(clock, steps)
    })
    if (step.done) return step.value
  }
}

function runSlice<Result>(clock: Clock, steps: Steps<Result>): IteratorResult<undefined, Result> {
  const begun = clock.monotonicMs()
  let step = steps.next()
  while (!step.done && clock.monotonicMs() - begun < maxSliceMs) step = steps.next()
  return step
}
