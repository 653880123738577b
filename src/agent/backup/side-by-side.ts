/**
 * Does works beside each other. The first failure ends the others and is thrown once all have ended: whoever clears up, or tries again, has
 * none of them beside it.
 */
export async function sideBySide(works: readonly ((signal: AbortSignal) => Promise<unknown>)[], signal?: AbortSignal): Promise<void> {
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
  // Who is to stop has not failed, whatever broke at the same time.
  signal?.throwIfAborted()
  if (over.signal.aborted) throw over.signal.reason
}
