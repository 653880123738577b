import type { Clock } from '../../core/kit/index.ts'

/** A lock of a daemon that died is free after this time. */
export const lockMs = 20_000
const renewEveryMs = 5_000

/** Renews a lock while the work runs. A renewal that fails is not repeated before the next one: what the work does twice has the same effect. */
export async function whileRenewed<Result>(clock: Clock, renew: () => Promise<unknown>, work: () => Promise<Result>): Promise<Result> {
  const over = new AbortController()
  const renewing = (async () => {
    for (;;) {
      await clock.sleep(renewEveryMs, over.signal)
      if (over.signal.aborted) return
      await renew().catch(() => undefined)
    }
  })()
  try {
    return await work()
  } finally {
    over.abort()
    // A renewal after this would lock again what the caller releases.
    await renewing
  }
}
