import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Steps } from '../../core/boards/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'

// A check or a simulation of a board may take up to a second of CPU. One daemon serves all tenants, so they take turns with its other work.

/** Checks and simulations of one tenant that wait behind the running one. */
const maxWaiting = 10
const maxSliceMs = 20

const queues = new Map<string, { readonly limit: LimitFunction; count: number }>()
const slices = pLimit(1)

/** Does the work once no other of the tenant runs. Throws RATE_LIMITED if too much waits already. */
export async function oneOfTenant<Result>({ tenantId }: Readonly<{ tenantId: string }>, work: () => Promise<Result>): Promise<Result> {
  const queue = queues.get(tenantId) ?? { limit: pLimit(1), count: 0 }
  if (queue.count > maxWaiting)
    throw problem('RATE_LIMITED', `${maxWaiting} checks and simulations of boards of this organisation wait already. Retry in 5 s.`, {
      retryAfterSeconds: 5,
    })
  queues.set(tenantId, queue)
  queue.count += 1
  try {
    return await queue.limit(work)
  } finally {
    queue.count -= 1
    if (queue.count === 0) queues.delete(tenantId)
  }
}

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
