import { type Clock, doubledMs, isProblem, type ProblemCode, type Random, retryUntilDone } from '../../core/kit/index.ts'

type Deps = Readonly<{ clock: Clock; random: Random }>

const pauses = { firstMs: 500, maxMs: 30_000 }

/** Exponential backoff with 50 % jitter before attempt `attempt` (from 1), so that many agents do not reconnect at once. */
export function backoffMs(random: Random, attempt: number): number {
  const full = doubledMs(attempt, pauses)
  return full / 2 + spreadMs(random, full / 2)
}

/** A random delay within a span. */
export function spreadMs(random: Random, withinMs: number): number {
  const [high = 0, low = 0] = random.bytes(2)
  return withinMs * ((high * 256 + low) / 65_536)
}

/** The daemon rejects this agent, so a retry cannot help. */
const endings: readonly ProblemCode[] = ['UNAUTHENTICATED', 'HOST_REVOKED', 'HOST_FROZEN', 'PROTOCOL_VERSION']
export const isFatal = (error: unknown): boolean => endings.some((code) => isProblem(error, code))

/** Retries until success or an error that `isFinal` accepts; undefined when the signal aborts first. Uses the injected clock. */
export async function retry<Value>(
  { clock, random }: Deps,
  call: () => Promise<Value>,
  { signal, isFinal, onFailure }: { signal: AbortSignal; isFinal: (error: unknown) => boolean; onFailure?: (error: unknown) => void },
): Promise<Value | undefined> {
  if (signal.aborted) return undefined
  try {
    return await retryUntilDone(clock, call, {
      signal,
      pauseMs: (attempt, error) =>
        Math.max(backoffMs(random, attempt), ((error as { retryAfterSeconds?: number }).retryAfterSeconds ?? 0) * 1000),
      onFailure: (error) => {
        if (isFinal(error)) throw error
        onFailure?.(error)
      },
    })
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

/** Waits for the work, at most for a time. */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const done = new AbortController()
  await Promise.race([work, clock.sleep(ms, done.signal)]).finally(() => done.abort())
}

/** Resolves with the promise or on abort, and removes its listener, because the signal lives as long as the agent. */
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
