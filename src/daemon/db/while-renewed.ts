import type { Clock } from '../../core/kit/index.ts'

export type Renewal = Readonly<{
  clock: Clock
  /** How long a renewal lasts. A process that dies frees its lease after this. */
  ttlMs: number
  /** False when another process has the lease. A failure is repeated until the lease expires. */
  renew(): Promise<boolean>
  /** Aborts when the process stops. */
  stopping?: AbortSignal | undefined
}>

/** Runs work under a lease and renews it four times in its length. The signal of the work aborts when the lease is lost or the process stops. */
export async function whileRenewed<Result>(renewal: Renewal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  // `AbortSignal.any` would leak: the signal of the process outlives all work and would keep a reference to each.
  const [over, stopped] = [new AbortController(), new AbortController()]
  const stop = () => stopped.abort()
  renewal.stopping?.addEventListener('abort', stop)
  if (renewal.stopping?.aborted) stop()
  const renewing = keepRenewed(renewal, over.signal, stop)
  try {
    return await work(stopped.signal)
  } finally {
    over.abort()
    renewal.stopping?.removeEventListener('abort', stop)
    // A renewal after this would lock again what the caller releases.
    await renewing
  }
}

async function keepRenewed({ clock, ttlMs, renew }: Renewal, over: AbortSignal, onLost: () => void): Promise<void> {
  for (let validUntilMs = clock.monotonicMs() + ttlMs; ; ) {
    await clock.sleep(ttlMs / 4, over)
    if (over.aborted) return
    const isOurs = await renew().catch(() => undefined)
    if (isOurs) validUntilMs = clock.monotonicMs() + ttlMs
    if (isOurs === false || clock.monotonicMs() >= validUntilMs) return onLost()
  }
}
