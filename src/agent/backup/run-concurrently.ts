/**
 * Runs works concurrently. The first failure aborts the others and is thrown once all have ended, so that none of them runs beside a
 * clean-up or a retry.
 */
export async function runConcurrently(works: readonly ((signal: AbortSignal) => Promise<unknown>)[], signal?: AbortSignal): Promise<void> {
  const over = new AbortController()
  const within = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  await Promise.all(
    works.map(async (work) => {
      try {
        await work(within)
      } catch (error) {
        over.abort(error)
      }
    }),
  )
  // An abort is not a failure, even if something failed at the same time.
  signal?.throwIfAborted()
  if (over.signal.aborted) throw over.signal.reason
}
