import { type Clock, isProblem, type ProblemCode, type Random } from '../../core/kit/index.ts'

type Deps = Readonly<{ clock: Clock; random: Random }>

const firstMs = 500
const longestMs = 30_000

/** Wait before attempt `attempt` (from 1): doubling, half of it by chance, so that a thousand agents do not come back in one moment. */
export function backoffMs(random: Random, attempt: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 16))
  return full / 2 + spreadMs(random, full / 2)
}

/** A moment by chance within a span. */
export function spreadMs(random: Random, withinMs: number): number {
  const [high = 0, low = 0] = random.bytes(2)
  return withinMs * ((high * 256 + low) / 65_536)
}

/** Trying again cannot help: the daemon knows us and does not want us, or does not know us. */
const endings: readonly ProblemCode[] = ['UNAUTHENTICATED', 'HOST_REVOKED', 'HOST_FROZEN', 'PROTOCOL_VERSION']
export const isEnding = (error: unknown): boolean => endings.some((code) => isProblem(error, code))

/**
 * Calls until it succeeds; `givesUp` says which failures are answers and not mishaps. Undefined when the signal aborted first.
 * Time is the injected clock's, which is why no retry library does this.
 */
export async function retry<Value>(
  { clock, random }: Deps,
  call: () => Promise<Value>,
  { signal, givesUp, onFailure }: { signal: AbortSignal; givesUp: (error: unknown) => boolean; onFailure?: (error: unknown) => void },
): Promise<Value | undefined> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (signal.aborted) return undefined
      if (givesUp(error)) throw error
      onFailure?.(error)
      const waitMs = Math.max(backoffMs(random, attempt), ((error as { retryAfterSeconds?: number }).retryAfterSeconds ?? 0) * 1000)
      await clock.sleep(waitMs, signal)
    }
  }
  return undefined
}

/** Resolves with the promise or as soon as the signal aborts, and leaves no listener behind: the signal lives as long as the agent. */
export async function orAborted(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  let end = (): void => undefined
  const aborted = new Promise<void>((resolve) => {
    end = resolve
  })
  signal.addEventListener('abort', end)
  try {
    await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
